-- Sellers who are connecting an account and have been sent to the vendor.
CREATE TABLE "ConnectorAuthorization" (
    "id" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "sealed" TEXT NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ConnectorAuthorization_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "ConnectorAuthorization_expiresAt_idx" ON "ConnectorAuthorization"("expiresAt");
