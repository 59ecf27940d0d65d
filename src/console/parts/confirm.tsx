import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Problem } from '../api/problem.ts';
import { ProblemNotice } from './problem-notice.tsx';

/**
 * Asks before something that cannot be undone.
 *
 * @param typed what has to be typed first, for what would hurt most.
 */
export function ConfirmDialog(props: {
  isOpen: boolean;
  title: string;
  children: ReactNode;
  action: string;
  typed?: string;
  isBusy: boolean;
  problem?: Problem | undefined;
  onConfirm(): void;
  onClose(): void;
}) {
  const { isOpen, title, children, action, typed, isBusy, problem, onConfirm, onClose } = props;
  const [text, setText] = useState('');
  const close = () => {
    setText('');
    onClose();
  };
  return (
    <Modal opened={isOpen} onClose={close} title={title}>
      <Stack gap="md">
        {problem && <ProblemNotice problem={problem} />}
        <Text size="sm" component="div">
          {children}
        </Text>
        {typed !== undefined && (
          <TextInput
            label={`Type ${typed} to confirm`}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autoComplete="off"
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button color="red" loading={isBusy} disabled={typed !== undefined && text !== typed} onClick={onConfirm}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
