-- Access tokens that connectors get from a longer-lived credential in their config.
CREATE TABLE "ConnectorToken" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "sealed" TEXT NOT NULL DEFAULT '',
    "expiresAt" TIMESTAMPTZ(3),
    "generation" INTEGER NOT NULL DEFAULT 0,
    "leaseUntil" TIMESTAMPTZ(3),

    CONSTRAINT "ConnectorToken_pkey" PRIMARY KEY ("id")
);
ALTER TABLE "ConnectorToken" ADD CONSTRAINT "ConnectorToken_id_fkey" FOREIGN KEY ("id") REFERENCES "Connector"("id") ON DELETE CASCADE ON UPDATE CASCADE;
