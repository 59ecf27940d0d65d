-- Webhooks can be paused too. A pause without a reason was made by the owner.
ALTER TABLE "Webhook" ADD COLUMN "pausedReason" TEXT, ADD COLUMN "pausedAt" TIMESTAMPTZ(3);

-- Connectors that the service paused check their credentials from time to time. Those that are paused now don't.
ALTER TABLE "Connector" ADD COLUMN "nextProbeAt" TIMESTAMPTZ(3), ADD COLUMN "probeCount" INTEGER NOT NULL DEFAULT 0;
CREATE INDEX "Connector_nextProbeAt_idx" ON "Connector"("nextProbeAt");

-- Held deliveries of both, by destination and in order, without those that wait for their turn.
DROP INDEX "Delivery_held";
CREATE INDEX "Delivery_held" ON "Delivery" ((coalesce("webhookId", "connectorId")), "id") WHERE "outcome" IS NULL AND "nextAttemptAt" IS NULL AND "reason" = 'paused';

-- Deliveries that wait for their turn, without those that are held.
DROP INDEX "Delivery_waiting";
CREATE INDEX "Delivery_waiting" ON "Delivery" ("updatedAt") WHERE "outcome" IS NULL AND "nextAttemptAt" IS NULL AND "orderingKey" IS NOT NULL AND "reason" IS DISTINCT FROM 'paused';
