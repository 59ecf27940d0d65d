import { Button, Group } from '@mantine/core';

/** The buttons that accept or decline something. `what` names it for screen readers, for example, “the invitation to Weather”. */
export function AnswerButtons(props: {
  what: string;
  isAccepting: boolean;
  isDeclining: boolean;
  onAccept(): void;
  onDecline(): void;
}) {
  const { what, isAccepting, isDeclining, onAccept, onDecline } = props;
  return (
    <Group>
      <Button loading={isAccepting} aria-label={`Accept ${what}`} onClick={onAccept}>
        Accept
      </Button>
      <Button variant="default" loading={isDeclining} aria-label={`Decline ${what}`} onClick={onDecline}>
        Decline
      </Button>
    </Group>
  );
}
