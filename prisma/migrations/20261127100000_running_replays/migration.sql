-- Workers look for running replays every second. Finished ones stay in the table for months.
CREATE INDEX "Replay_running" ON "Replay" ("projectId") WHERE "status" = 'RUNNING';
