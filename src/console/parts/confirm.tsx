import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Problem } from '../api/problem.ts';
import { ProblemNotice } from './problem-notice.tsx';

/**
 * Asks for confirmation before a risky action.
 *
 * @param alternative a button for a safer action that the user may prefer.
 * @param typed for the riskiest actions: strings that the user has to type first, each in its own field.
 */
export function ConfirmDialog(props: {
  isOpen: boolean;
  title: string;
  children: ReactNode;
  action: string;
  alternative?: ReactNode;
  typed?: readonly string[];
  isBusy: boolean;
  problem?: Problem | undefined;
  onConfirm(): void;
  onClose(): void;
}) {
  const { isOpen, title, children, action, alternative, typed = [], isBusy, problem, onConfirm, onClose } = props;
  const [texts, setTexts] = useState<readonly string[]>([]);
  const isTyped = typed.every((wanted, index) => texts[index] === wanted);
  const close = () => {
    setTexts([]);
    onClose();
  };
  return (
    <Modal opened={isOpen} onClose={close} title={title}>
      <Stack gap="md">
        {problem && <ProblemNotice problem={problem} />}
        <Text size="sm" component="div">
          {children}
        </Text>
        {typed.map((wanted, index) => (
          <TextInput
            key={wanted}
            label={`Type ${wanted} to confirm`}
            styles={{ label: { overflowWrap: 'anywhere' } }}
            value={texts[index] ?? ''}
            onChange={({ currentTarget: { value } }) =>
              setTexts((before) => typed.map((_wanted, place) => (place === index ? value : (before[place] ?? ''))))
            }
            autoComplete="off"
            spellCheck={false}
          />
        ))}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          {alternative}
          <Button color="red.9" loading={isBusy} disabled={!isTyped} onClick={onConfirm}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
