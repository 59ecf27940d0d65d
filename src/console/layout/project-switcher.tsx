import { Group, Menu, Text, UnstyledButton } from '@mantine/core';
import { IconCheck, IconLayoutList, IconSelector } from '@tabler/icons-react';
import { useState } from 'react';
import { useQuery } from 'urql';
import { Link } from 'wouter';
import { ProjectsDocument } from '../../generated/console/projects.ts';
import type { CurrentProject } from '../parts/current-project.tsx';
import { formatEnum } from '../parts/format.ts';
import { ModeBadge } from '../parts/mode.tsx';

const SHOWN = 20;

/** Shows the current project, with a menu to switch to another one. */
export function ProjectSwitcher({ project }: { project: CurrentProject | undefined }) {
  const [isOpen, setOpen] = useState(false);
  const [{ data }] = useQuery({ query: ProjectsDocument, variables: { first: SHOWN }, pause: !isOpen });
  const projects = data?.projects?.nodes ?? [];
  return (
    <Menu opened={isOpen} onChange={setOpen} position="bottom-start" width="target">
      <Menu.Target>
        <UnstyledButton className="switcher">
          <span className="visually-hidden">Switch project, current: </span>
          <Text fz="sm" fw={600} truncate flex={1}>
            {project?.name ?? '…'}
          </Text>
          {project && <ModeBadge mode={project.mode} />}
          <IconSelector size={16} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown mah={360} style={{ overflowY: 'auto' }}>
        {projects.map(({ id, name, mode, viewerRole }) => (
          <Menu.Item
            key={id}
            component={Link}
            href={`/projects/${id}`}
            rightSection={id === project?.id && <IconCheck size={14} aria-label="Current project" />}
          >
            <Group gap={6} wrap="nowrap">
              <Text fz="sm" truncate flex={1}>
                {name}
              </Text>
              <ModeBadge mode={mode} />
            </Group>
            {viewerRole && viewerRole !== 'OWNER' && (
              <Text fz="xs" c="dimmed">
                Shared with you: {formatEnum(viewerRole).toLowerCase()}
              </Text>
            )}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item component={Link} href="/" leftSection={<IconLayoutList size={16} />}>
          All projects
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
