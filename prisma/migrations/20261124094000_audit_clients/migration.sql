-- The program that made a change, as it names itself. Processes of the previous version leave it out.
ALTER TABLE "AuditEntry" ADD COLUMN "client" TEXT;
