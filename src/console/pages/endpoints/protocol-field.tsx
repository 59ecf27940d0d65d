import { Radio, type RadioGroupProps, Stack } from '@mantine/core';
import type { EndpointRow } from './rows.ts';

const CHOICES = [
  ['HTTP', 'An HTTP API', 'Buyers pay for each request.'],
  [
    'MCP',
    'An MCP server',
    'Buyers pay for each tool call that succeeds. Everything else is free. The server must use the Streamable HTTP transport.',
  ],
] as const satisfies [EndpointRow['protocol'], string, string][];

/** Selects what is behind an endpoint. */
export function ProtocolField(props: Omit<RadioGroupProps, 'children'>) {
  return (
    <Radio.Group label="What you sell" {...props}>
      <Stack gap="xs" mt="xs">
        {CHOICES.map(([value, label, description]) => (
          <Radio key={value} value={value} label={label} description={description} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
