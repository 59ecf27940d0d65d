import { Button, Group, PasswordInput, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { type ProjectSettingsQuery, RotateUpstreamSecretDocument } from '../../../generated/console/settings.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { formatTime } from '../../parts/format.ts';
import { Panel } from '../../parts/page.tsx';
import { previousSecretEnd } from '../../parts/previous-secret.ts';
import { RotateSecretDialog } from '../../parts/rotate-secret.tsx';
import { showDone } from '../../parts/toast.tsx';

type Settings = NonNullable<ProjectSettingsQuery['project']>;

/** The secret with which the gateway signs requests to the project's upstreams. */
export function UpstreamSecret({ settings, secret }: { settings: Settings; secret: string }) {
  const { id, previousUpstreamSecretExpiresAt } = settings;
  const [isShown, setShown] = useState(false);
  const [isRotating, dialog] = useDisclosure();
  const { submit, problem, isBusy } = useSubmit(RotateUpstreamSecretDocument);
  const input = useRef<HTMLInputElement>(null);
  const previousEnd = previousSecretEnd(previousUpstreamSecretExpiresAt);
  function reveal(): Element | null {
    // Browsers don't copy from a masked field.
    flushSync(() => setShown(true));
    return input.current;
  }
  async function rotate(overlapHours: number) {
    if (!(await submit({ input: { projectId: id, overlapHours } }))) return;
    dialog.close();
    showDone('Secret rotated');
  }
  return (
    <Panel title="Upstream secret">
      <Text size="sm" c="dimmed">
        Use this secret in your API to verify the tollgate-signature header on requests from the gateway. The gateway
        documentation has code samples.
      </Text>
      <Group gap={4} maw={560} wrap="nowrap">
        <PasswordInput
          ref={input}
          aria-label="Upstream secret"
          value={secret}
          readOnly
          flex={1}
          visible={isShown}
          onVisibilityChange={setShown}
        />
        <Copy value={secret} what="upstream secret" shownIn={reveal} />
      </Group>
      {previousEnd && (
        <Text size="sm" c="dimmed">
          The previous secret works until {formatTime(previousEnd)}.
        </Text>
      )}
      <Group>
        <Button variant="default" onClick={dialog.open}>
          Rotate secret
        </Button>
      </Group>
      {isRotating && (
        <RotateSecretDialog
          title="Rotate upstream secret"
          previousExpiresAt={previousUpstreamSecretExpiresAt}
          isBusy={isBusy}
          problem={problem}
          onClose={dialog.close}
          onRotate={rotate}
        />
      )}
    </Panel>
  );
}
