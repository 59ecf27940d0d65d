-- What readiness writes and takes back, to see whether the database can be written. Each row takes a page of its own, so
-- that the file has to grow: a full disk shows there first.
CREATE TABLE "ReadinessProbe" (
  "id" TEXT NOT NULL,
  "page" TEXT NOT NULL,
  CONSTRAINT "ReadinessProbe_pkey" PRIMARY KEY ("id")
);

-- Neither compressed nor moved elsewhere.
ALTER TABLE "ReadinessProbe" ALTER COLUMN "page" SET STORAGE PLAIN;
