-- What is behind an endpoint: any HTTP API, or an MCP server, where only tool calls are paid for. The column has a default
-- that keeps stored endpoints as they are, so processes of the previous version can go on writing.
CREATE TYPE "EndpointProtocol" AS ENUM ('HTTP', 'MCP');

ALTER TABLE "Endpoint" ADD COLUMN "protocol" "EndpointProtocol" NOT NULL DEFAULT 'HTTP';
