#!/bin/bash
grep -v ",void$" records.csv > clean.csv
