-- Keys that exist keep what they could do before there were scopes. So do keys that processes of the previous version
-- create while both versions run.
CREATE TYPE "ApiKeyScope" AS ENUM ('READ', 'DELIVERIES', 'WRITE', 'CREDENTIALS');

ALTER TABLE "ApiKey"
  ADD COLUMN "scopes" "ApiKeyScope"[] DEFAULT ARRAY['READ', 'DELIVERIES', 'WRITE', 'CREDENTIALS']::"ApiKeyScope"[],
  ADD COLUMN "expiresAt" TIMESTAMPTZ(3);
