-- CreateTable
CREATE TABLE "Installation" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "identity" TEXT NOT NULL,
    "timeline" INTEGER NOT NULL,
    "adoptedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),
    "heldAt" TIMESTAMPTZ(3),

    CONSTRAINT "Installation_pkey" PRIMARY KEY ("id")
);
