import { Box, Code, Group } from '@mantine/core';
import { Copy } from './copy-button.tsx';

/** A command or snippet with a copy button. */
export function Command({ children }: { children: string }) {
  return (
    <Group w="100%" gap={0} wrap="nowrap" align="start" className="command">
      <Code
        block
        flex={1}
        miw={0}
        bg="transparent"
        style={{ overflowX: 'auto' }}
        tabIndex={0}
        role="region"
        aria-label="Command"
      >
        {children}
      </Code>
      <Box p={6}>
        <Copy value={children} what="command" />
      </Box>
    </Group>
  );
}
