import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { adviceFor, type Problem } from '../api/problem.ts';

/** Long enough to read the message and reach the button, even by keyboard. */
const ACTION_MILLISECONDS = 15_000;

type Action = {
  label: string;
  /** The message to show when the action has succeeded. */
  done: string;
  /** @returns the problem if it failed. */
  run(): Promise<Problem | undefined>;
};

/** Confirms what was just done. The action, if any, undoes it. */
export function showDone(message: string, action?: Action): void {
  if (!action) return void notifications.show({ message, color: 'teal' });
  const { label, done, run } = action;
  const id = notifications.show({
    color: 'teal',
    autoClose: ACTION_MILLISECONDS,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">{message}</Text>
        <Button size="compact-sm" variant="default" onClick={() => void takeBack()}>
          {label}
        </Button>
      </Group>
    ),
  });
  async function takeBack(): Promise<void> {
    notifications.hide(id);
    const problem = await run();
    if (problem) showFailure(`${label} failed`, problem);
    else showDone(done);
  }
}

/** Says that a change was accepted but won't take effect as usual. */
export function showCaveat(title: string, message: string): void {
  notifications.show({ title, message, color: 'orange' });
}

export function showFailure(title: string, problem: Problem): void {
  const message = [problem.message, adviceFor(problem)].filter(Boolean).join(' ');
  notifications.show({ title, message, color: 'red' });
}
