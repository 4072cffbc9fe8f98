#!/bin/bash
python3 -m pytest -q -p no:cacheprovider /tests/test_clean.py
[ $? -eq 0 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
