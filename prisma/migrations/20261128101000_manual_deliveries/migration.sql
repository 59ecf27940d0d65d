-- A replay counts its project's waiting deliveries before every batch. New events don't write to this index.
CREATE INDEX "Delivery_manual" ON "Delivery" ("projectId", "nextAttemptAt") WHERE "outcome" IS NULL AND "trigger" = 'MANUAL';
