-- The addresses that an API key can be used from; empty if from any. Processes of the previous version accept the key from any
-- address.
ALTER TABLE "ApiKey" ADD COLUMN "allowedAddresses" TEXT[] DEFAULT ARRAY[]::TEXT[];
