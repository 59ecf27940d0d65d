import { Anchor, Code, Text } from '@mantine/core';
import { Breakable } from '../../parts/breakable.tsx';
import { formatTime } from '../../parts/format.ts';
import { previousSecretEnd } from '../../parts/previous-secret.ts';
import type { WebhookRow } from './rows.ts';

/** A webhook in the list: its name or URL, which opens it, and other details that identify it. */
export function WebhookCell({ webhook, onOpen }: { webhook: WebhookRow; onOpen(): void }) {
  const oldSecretUntil = previousSecretEnd(webhook.previousSecretExpiresAt);
  const url = (
    <Code bg="transparent" p={0}>
      <Breakable text={webhook.url} />
    </Code>
  );
  return (
    <>
      <Anchor component="button" type="button" onClick={onOpen}>
        {webhook.name ?? url}
      </Anchor>
      {webhook.name && <div>{url}</div>}
      {webhook.description && (
        <Text size="xs" c="dimmed">
          {webhook.description}
        </Text>
      )}
      {oldSecretUntil && <Text size="xs">The previous secret works until {formatTime(oldSecretUntil)}.</Text>}
    </>
  );
}
