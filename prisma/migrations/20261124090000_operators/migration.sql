-- Operators set tiers and block accounts. Existing tiers count as set by the issuer: a claim, if there is one, keeps
-- changing them, and without a claim nothing does.
CREATE TYPE "TierSetter" AS ENUM ('ISSUER', 'OPERATOR');
ALTER TABLE "User" ADD COLUMN "tierSetBy" "TierSetter" NOT NULL DEFAULT 'ISSUER';
ALTER TABLE "User" ADD COLUMN "blockedAt" TIMESTAMPTZ(3);
ALTER TABLE "User" ADD COLUMN "blockedReason" TEXT;

-- Changes to an account belong to no project.
ALTER TYPE "AuditActor" ADD VALUE 'OPERATOR';
ALTER TABLE "AuditEntry" ALTER COLUMN "projectId" DROP NOT NULL;
