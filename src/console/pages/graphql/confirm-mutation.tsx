import { Code, Stack } from '@mantine/core';
import { parse, print } from 'graphql';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import type { Draft } from './operations.ts';

/**
 * Asks before a mutation runs. Someone else may have written it, because links can fill the editors, and these show only
 * a part of a long document. The dialog shows all of it, without the comments.
 */
export function ConfirmMutation(props: { isOpen: boolean; draft: Draft; onConfirm(): void; onClose(): void }) {
  const { isOpen, draft, onConfirm, onClose } = props;
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title="Run this mutation?"
      action="Run mutation"
      isBusy={false}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <Stack gap="xs">
        It is run as the signed-in user and changes real data.
        {isOpen && (
          <>
            <Shown label="Operation to run" text={print(parse(draft.query))} />
            <Shown label="Variables to send" text={draft.variables} />
          </>
        )}
      </Stack>
    </ConfirmDialog>
  );
}

function Shown({ label, text }: { label: string; text: string }) {
  return (
    <Code
      block
      tabIndex={0}
      role="region"
      aria-label={label}
      style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}
    >
      {text}
    </Code>
  );
}
