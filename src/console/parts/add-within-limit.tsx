import { Anchor, Button, Stack, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useId } from 'react';
import { Link } from 'wouter';
import { useProject } from './current-project.tsx';
import { ActionForRole } from './role.tsx';

/**
 * A button that adds a resource, up to the limit of the owner's tier. At the limit, the button is disabled and says
 * why.
 *
 * @param left how many more can be added. Null means unlimited, and undefined means that the number isn't known yet.
 */
export function AddWithinLimit(props: {
  what: 'webhook' | 'connector';
  left: number | null | undefined;
  onClick(): void;
}) {
  const { what, left, onClick } = props;
  const { id, viewerRole } = useProject();
  const reasonId = useId();
  const isFull = left === 0;
  const whose = viewerRole === 'OWNER' ? 'Your tier' : 'The tier of the project’s owner';
  return (
    <ActionForRole lowest="DEVELOPER">
      <Stack gap={4} align="flex-end">
        <Button
          leftSection={<IconPlus size={16} />}
          disabled={isFull}
          aria-describedby={isFull ? reasonId : undefined}
          onClick={onClick}
        >
          Add {what}
        </Button>
        {isFull && (
          <Text id={reasonId} size="xs" c="dimmed" maw={300} ta="right">
            {whose} doesn’t allow another {what}.{' '}
            <Anchor component={Link} href={`/projects/${id}/limits`} inherit underline="always">
              See the limits
            </Anchor>
          </Text>
        )}
      </Stack>
    </ActionForRole>
  );
}
