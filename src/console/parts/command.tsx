import { Box, Code } from '@mantine/core';
import { Copy } from './copy-button.tsx';

/** A command or snippet with a copy button. */
export function Command({ children }: { children: string }) {
  return (
    <Box pos="relative" w="100%">
      <Code block pr={36} style={{ overflowX: 'auto' }} tabIndex={0} role="region" aria-label="Command">
        {children}
      </Code>
      <Box pos="absolute" top={6} right={6}>
        <Copy value={children} what="command" />
      </Box>
    </Box>
  );
}
