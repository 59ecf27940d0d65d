/** The body of a tool call, for MCP endpoints whose sellers provide no schema. Listing the tools is free. */
export const TOOL_CALL_SCHEMA = {
  type: 'object',
  description: 'A JSON-RPC request that calls a tool of an MCP server. All other messages are free.',
  properties: {
    jsonrpc: { type: 'string', const: '2.0' },
    id: { type: ['string', 'integer'], default: 1 },
    method: { type: 'string', const: 'tools/call' },
    params: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of a tool that `tools/list` returns.' },
        arguments: { type: 'object' },
      },
      required: ['name'],
    },
  },
  required: ['jsonrpc', 'id', 'method', 'params'],
};
