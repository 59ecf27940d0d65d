import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Problem } from '../api/problem.ts';
import { ProblemNotice } from './problem-notice.tsx';

/**
 * Asks for confirmation before a risky action.
 *
 * @param typed for the riskiest actions: texts that the user has to type first, each in its own field.
 */
export function ConfirmDialog(props: {
  isOpen: boolean;
  title: string;
  children: ReactNode;
  action: string;
  typed?: readonly string[];
  isBusy: boolean;
  problem?: Problem | undefined;
  onConfirm(): void;
  onClose(): void;
}) {
  const { isOpen, title, children, action, typed = [], isBusy, problem, onConfirm, onClose } = props;
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
          <Button color="red.9" loading={isBusy} disabled={!isTyped} onClick={onConfirm}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
