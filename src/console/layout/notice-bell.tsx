import { ActionIcon, Indicator, Tooltip } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { Link } from 'wouter';
import { NoticesCursorDocument } from '../../generated/console/live.ts';
import { FollowNoticesDocument, UnreadNoticesDocument } from '../../generated/console/notices.ts';
import { useChanges } from '../parts/follow-changes.ts';

const MAX_SHOWN = 99;

/** The number of unread notices in the project, updated live. */
export function useUnreadNotices(projectId: string): number {
  const variables = { projectId };
  const [{ data }, reload] = useQuery({ query: UnreadNoticesDocument, variables });
  useChanges({
    cursor: NoticesCursorDocument,
    document: FollowNoticesDocument,
    variables,
    cursorOf: ({ noticeUpdated }) => noticeUpdated?.cursor,
    onChange: () => reload({ requestPolicy: 'network-only' }),
  });
  return data?.project?.unreadNoticeCount ?? 0;
}

/** A bell that shows the number of unread notices and links to them. */
export function NoticeBell({ projectId, unread }: { projectId: string; unread: number }) {
  const label = unread === 0 ? 'Notices' : `Notices, ${unread} unread`;
  return (
    <Tooltip label={label}>
      <Indicator
        label={unread > MAX_SHOWN ? `${MAX_SHOWN}+` : unread}
        disabled={unread === 0}
        size={16}
        offset={5}
        color="red.8"
      >
        <ActionIcon
          component={Link}
          href={`/projects/${projectId}/notices`}
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={label}
        >
          <IconBell size={18} />
        </ActionIcon>
      </Indicator>
    </Tooltip>
  );
}
