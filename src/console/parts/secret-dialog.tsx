import { Alert, Button, Checkbox, Group, Modal, Stack } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Command } from './command.tsx';

/** Shows a secret that can be seen only once. It closes only after the user confirms that they stored the secret. */
export function SecretDialog(props: {
  secret: string | undefined;
  title: string;
  children?: ReactNode;
  onClose(): void;
}) {
  const { secret, title, children, onClose } = props;
  const [isKept, setKept] = useState(false);
  const close = () => {
    setKept(false);
    onClose();
  };
  return (
    <Modal
      opened={secret !== undefined}
      onClose={close}
      title={title}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      size="lg"
    >
      <Stack gap="md">
        <Alert icon={<IconKey size={18} />} title="Copy it now. You won’t be able to see it again.">
          {children}
        </Alert>
        <Command>{secret ?? ''}</Command>
        <Checkbox
          label="I’ve stored it in a safe place"
          checked={isKept}
          onChange={(event) => setKept(event.currentTarget.checked)}
        />
        <Group justify="flex-end">
          <Button disabled={!isKept} onClick={close}>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
