import { Box, Code, Group, Text, Title } from '@mantine/core';
import { Copy } from '../../parts/copy-button.tsx';

/**
 * The request's body exactly as it is sent.
 *
 * @param isRebuilt whether it is built from the current settings, so an earlier request may have been different.
 */
export function RequestBody({ body, isRebuilt }: { body: string | null | undefined; isRebuilt: boolean }) {
  return (
    <Box component="section" aria-label="Request body">
      <Group justify="space-between" mb={6}>
        <Title order={3}>Request body</Title>
        {body && <Copy value={body} what="request body" />}
      </Group>
      <Text size="xs" c="dimmed" mb={6}>
        {describe(body, isRebuilt)}
      </Text>
      {body && (
        // It scrolls, so it must be reachable by keyboard.
        <Code block className="wire" tabIndex={0} role="region" aria-label="Request body, as sent">
          {body}
        </Code>
      )}
    </Box>
  );
}

function describe(body: string | null | undefined, isRebuilt: boolean): string {
  if (body == null) return 'There is no body to show: this event isn’t sent to this destination.';
  if (isRebuilt) {
    return 'The body that would be sent for this event alone with the current settings. Secrets are masked. A request can contain several events.';
  }
  return 'The exact bytes that the signature covers. They are the same on every attempt.';
}
