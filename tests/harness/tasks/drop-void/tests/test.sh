#!/bin/bash
python3 -m pytest -q -p no:cacheprovider /tests/check_clean.py
[ $? -eq 0 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
