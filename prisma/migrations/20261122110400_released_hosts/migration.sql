-- CreateTable
CREATE TABLE "ReleasedHost" (
    "host" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "reservedUntil" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ReleasedHost_pkey" PRIMARY KEY ("host")
);

-- CreateIndex
CREATE INDEX "ReleasedHost_userId_idx" ON "ReleasedHost"("userId");

-- CreateIndex
CREATE INDEX "ReleasedHost_reservedUntil_idx" ON "ReleasedHost"("reservedUntil");
