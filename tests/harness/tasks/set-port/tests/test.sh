#!/bin/bash
grep -qx 'port = 8443' /app/server.ini && reward=1 || reward=0
echo "{\"reward\": $reward}" > /logs/verifier/reward.json
