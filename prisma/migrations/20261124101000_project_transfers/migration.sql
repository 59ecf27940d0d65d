-- A project changes its owner only if the new one accepts. Processes of the previous version don't write this table.
CREATE TYPE "TransferStatus" AS ENUM ('PENDING', 'ACCEPTED', 'DECLINED', 'WITHDRAWN', 'EXPIRED');

CREATE TABLE "ProjectTransfer" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "userId" TEXT,
    "email" TEXT,
    "name" TEXT NOT NULL,
    "status" "TransferStatus" NOT NULL DEFAULT 'PENDING',
    "offeredById" TEXT NOT NULL,
    "offeredByName" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,
    "endedAt" TIMESTAMPTZ(3),

    CONSTRAINT "ProjectTransfer_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "ProjectTransfer_projectId_id_idx" ON "ProjectTransfer"("projectId", "id");
CREATE INDEX "ProjectTransfer_userId_id_idx" ON "ProjectTransfer"("userId", "id");
CREATE INDEX "ProjectTransfer_email_id_idx" ON "ProjectTransfer"("email", "id");
CREATE INDEX "ProjectTransfer_offeredById_createdAt_idx" ON "ProjectTransfer"("offeredById", "createdAt");
-- A project is offered to one person at a time.
CREATE UNIQUE INDEX "ProjectTransfer_pending" ON "ProjectTransfer" ("projectId") WHERE "status" = 'PENDING';
ALTER TABLE "ProjectTransfer" ADD CONSTRAINT "ProjectTransfer_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE TRIGGER "ProjectTransfer_project" BEFORE INSERT ON "ProjectTransfer" FOR EACH ROW EXECUTE FUNCTION reject_deleted_project();

-- The notice about an offer is open until the offer ends. The person's response is news for everyone in the project.
CREATE FUNCTION note_transfer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM open_notice(NEW."projectId", 'transfer.offered', NEW."projectId", NEW."name", NULL, '0');
    RETURN NULL;
  END IF;
  PERFORM close_notices(NEW."projectId", ARRAY['transfer.offered']);
  IF NEW."status" = 'ACCEPTED' THEN
    PERFORM note_moment(NEW."projectId", 'transfer.accepted', NEW."projectId", NEW."name");
  ELSIF NEW."status" = 'DECLINED' THEN
    PERFORM note_moment(NEW."projectId", 'transfer.declined', NEW."projectId", NEW."name");
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "ProjectTransfer_offer"
  AFTER INSERT ON "ProjectTransfer" FOR EACH ROW WHEN (NEW."status" = 'PENDING') EXECUTE FUNCTION note_transfer();
CREATE TRIGGER "ProjectTransfer_end"
  AFTER UPDATE OF "status" ON "ProjectTransfer"
  FOR EACH ROW WHEN (OLD."status" = 'PENDING' AND NEW."status" <> 'PENDING') EXECUTE FUNCTION note_transfer();

-- What concerns an account but no project, such as what operators did. Projects' entries aren't in this index.
CREATE INDEX "AuditEntry_account" ON "AuditEntry" ("userId", "id") WHERE "projectId" IS NULL;
