import { Box, Code, Group, Title } from '@mantine/core';
import { Copy } from './copy-button.tsx';

/** A formatted JSON value with a copy button. */
export function JsonView({ title, value }: { title: string; value: unknown }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <Box component="section" aria-label={title}>
      <Group justify="space-between" mb={6}>
        <Title order={3}>{title}</Title>
        <Copy value={text} what="JSON" />
      </Group>
      {/* It scrolls, so it must be reachable by keyboard. */}
      <Code block className="json" tabIndex={0} role="region" aria-label={`${title}, JSON`}>
        {text}
      </Code>
    </Box>
  );
}
