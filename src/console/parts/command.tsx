import { Box, Code, Group } from '@mantine/core';
import { useRef } from 'react';
import { Copy } from './copy-button.tsx';

/** A command or snippet with a copy button. */
export function Command({ children }: { children: string }) {
  const code = useRef<HTMLPreElement>(null);
  return (
    <Group w="100%" gap={0} wrap="nowrap" align="start" className="command">
      <Code
        block
        ref={code}
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
        <Copy value={children} what="command" shownIn={() => code.current} />
      </Box>
    </Group>
  );
}
