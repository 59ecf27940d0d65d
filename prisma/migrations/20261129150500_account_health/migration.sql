-- What the health of accounts is counted from, so that counting doesn't read every project. Few rows are in these indexes, and
-- neither deliveries nor payments write to them: only the rollups, once a minute and project, and destinations when they start
-- or stop failing, or are paused.
CREATE INDEX "DeliveryRollup_failed" ON "DeliveryRollup" ("start", "projectId") WHERE "interval" = 'HOUR' AND "failedCount" > 0;
CREATE INDEX "Webhook_trouble" ON "Webhook" ("projectId")
  WHERE "disabledReason" IS NOT NULL OR "pausedAt" IS NOT NULL OR "failingSince" IS NOT NULL;
CREATE INDEX "Connector_trouble" ON "Connector" ("projectId")
  WHERE "disabledReason" IS NOT NULL OR "pausedAt" IS NOT NULL OR "failingSince" IS NOT NULL;
