import { Modal } from '@mantine/core';
import { Command } from './command.tsx';

/** JSON to be read and copied. */
export function JsonDialog(props: { title: string; value: unknown; isOpen: boolean; onClose(): void }) {
  const { title, value, isOpen, onClose } = props;
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} size="xl">
      <Command>{JSON.stringify(value ?? null, null, 2)}</Command>
    </Modal>
  );
}
