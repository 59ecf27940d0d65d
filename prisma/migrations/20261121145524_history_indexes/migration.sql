-- Those deliveries to which it applies are all that such an index needs.
DROP INDEX "Delivery_webhookId_id_idx";
DROP INDEX "Delivery_connectorId_id_idx";
CREATE INDEX "Delivery_webhook" ON "Delivery" ("webhookId", "id") WHERE "webhookId" IS NOT NULL;
CREATE INDEX "Delivery_connector" ON "Delivery" ("connectorId", "id") WHERE "connectorId" IS NOT NULL;

-- Finds the few that have failed among the many. A delivery enters it once, when it is finished.
CREATE INDEX "Delivery_finished" ON "Delivery" ("projectId", "status", "id") WHERE "completedAt" IS NOT NULL;

CREATE INDEX "Event_projectId_type_id_idx" ON "Event" ("projectId", "type", "id");
CREATE INDEX "Delivery_projectId_eventType_id_idx" ON "Delivery" ("projectId", "eventType", "id");
