import { EndpointProtocol } from '../../generated/prisma/enums.ts';
import { builder } from '../../schema/builder.ts';

export const EndpointProtocolEnum = builder.enumType('EndpointProtocol', {
  description: 'What is behind an endpoint.',
  values: {
    HTTP: { value: EndpointProtocol.HTTP, description: 'An HTTP API. Buyers pay for each request.' },
    MCP: {
      value: EndpointProtocol.MCP,
      description:
        'An MCP server that uses the Streamable HTTP transport. Buyers pay for each successful tool call, and everything else is free.',
    },
  },
});
