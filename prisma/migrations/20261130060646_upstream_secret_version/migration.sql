-- AlterTable
ALTER TABLE "Project" ADD COLUMN     "previousUpstreamSecretExpiresAt" TIMESTAMPTZ(3),
ADD COLUMN     "upstreamSecretVersion" INTEGER NOT NULL DEFAULT 1;
