import { Code, Stack } from '@mantine/core';
import { parse, print } from 'graphql';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import type { Draft } from './operations.ts';

/** Characters that are invisible, or that reverse the direction of text. In strings, an escape means the same. */
const MISLEADING = /[\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/g;

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
      {text.replaceAll(MISLEADING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)}
    </Code>
  );
}
