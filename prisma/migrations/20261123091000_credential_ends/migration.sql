-- When the vendor ends the credential that a connector's access tokens come from.
ALTER TABLE "Connector" ADD COLUMN "credentialExpiresAt" TIMESTAMPTZ(3);
CREATE INDEX "Connector_credentialExpiresAt_idx" ON "Connector"("credentialExpiresAt");
