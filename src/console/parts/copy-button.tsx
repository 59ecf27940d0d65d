import { ActionIcon, Tooltip } from '@mantine/core';
import { useTimeout } from '@mantine/hooks';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useState } from 'react';
import { copyText, selectText } from './copy-text.ts';
import { showCaveat } from './toast.tsx';

const COPIED_MILLISECONDS = 1500;

/**
 * Copies text to the clipboard. `what` completes the label “Copy …”.
 *
 * @param shownIn returns the element that shows exactly this text. If the browser doesn't let the console copy, the text
 *   is selected there, and the user is asked to copy it.
 */
export function Copy(props: { value: string; what: string; shownIn?: () => Element | null }) {
  const { value, what, shownIn } = props;
  const [isCopied, setCopied] = useState(false);
  const { start } = useTimeout(() => setCopied(false), COPIED_MILLISECONDS);
  async function copy(): Promise<void> {
    if (await copyText(value)) {
      setCopied(true);
      start();
      return;
    }
    const element = shownIn?.();
    if (element) selectText(element);
    showNotCopied(element ? 'The text is selected. Press Ctrl+C (⌘C on a Mac).' : undefined);
  }
  const label = isCopied ? 'Copied' : `Copy ${what}`;
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color={isCopied ? 'teal' : 'gray'}
        size={24}
        aria-label={label}
        onClick={(event) => {
          event.stopPropagation();
          void copy();
        }}
      >
        {isCopied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      </ActionIcon>
    </Tooltip>
  );
}

/** Says that the browser didn't copy, and how the user can copy the text instead. */
export function showNotCopied(instead = 'Select the text, and press Ctrl+C (⌘C on a Mac).'): void {
  showCaveat('Not copied', `Your browser doesn’t let the console copy. ${instead}`);
}
