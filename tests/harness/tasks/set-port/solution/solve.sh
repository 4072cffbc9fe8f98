#!/bin/bash
sed -i "s/^port = .*/port = 8443/" /app/server.ini
