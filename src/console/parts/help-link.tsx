import { ActionIcon, Tooltip } from '@mantine/core';
import { IconHelp } from '@tabler/icons-react';
import { createContext, use } from 'react';
import { docsUrl } from './docs-link.ts';
import type { HelpTopic } from './help-topic.ts';

/** The current page's topic. Pages without a topic have no help link. */
export const HelpTopicContext = createContext<HelpTopic | undefined>(undefined);

/** A link that opens the documentation for the current page in a new tab. */
export function HelpLink({ title }: { title: string }) {
  const topic = use(HelpTopicContext);
  if (!topic) return null;
  const label = `Help for “${title}”`;
  return (
    <Tooltip label="Help">
      <ActionIcon
        component="a"
        href={docsUrl(topic.page, topic.section)}
        target="_blank"
        rel="noopener"
        variant="subtle"
        color="gray"
        aria-label={label}
      >
        <IconHelp size={18} />
      </ActionIcon>
    </Tooltip>
  );
}
