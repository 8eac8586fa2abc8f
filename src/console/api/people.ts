/** API calls and queries of the people of the account. */
import type {
  ConsoleAcceptInvitationData,
  ConsoleAcceptInvitationResponse,
  ConsoleChangeRoleData,
  ConsoleChangeRoleResponse,
  ConsoleGetInvitationData,
  ConsoleGetInvitationResponse,
  ConsoleInvitation,
  ConsoleInviteData,
  ConsoleInviteResponse,
  ConsoleListInvitationsData,
  ConsoleListInvitationsResponse,
  ConsoleListPeopleData,
  ConsoleListPeopleResponse,
  ConsolePerson,
  ConsoleRemovePersonData,
  ConsoleRemovePersonResponse,
  ConsoleRevokeInvitationData,
  ConsoleRevokeInvitationResponse,
  Role,
} from '../../contract/types.gen.ts';
import { call, startingAfter } from './client.ts';
import { useList } from './lists.ts';

export const peopleKey = ['people'] as const;

export function usePeople() {
  return useList<ConsolePerson, string>([...peopleKey, 'list'], (cursor, signal) => {
    const query = { limit: 100, ...startingAfter(cursor) };
    return call<ConsoleListPeopleData, ConsoleListPeopleResponse>('GET', '/console/api/people', { query }, { signal });
  });
}

export function useInvitations() {
  return useList<ConsoleInvitation, string>([...peopleKey, 'invitations'], (cursor, signal) => {
    const query = { limit: 100, ...startingAfter(cursor) };
    return call<ConsoleListInvitationsData, ConsoleListInvitationsResponse>('GET', '/console/api/invitations', { query }, { signal });
  });
}

export function changeRole(id: string, role: Role): Promise<ConsoleChangeRoleResponse> {
  return call<ConsoleChangeRoleData, ConsoleChangeRoleResponse>('PATCH', '/console/api/people/{id}', { path: { id }, body: { role } });
}

export function removePerson(id: string): Promise<ConsoleRemovePersonResponse> {
  return call<ConsoleRemovePersonData, ConsoleRemovePersonResponse>('DELETE', '/console/api/people/{id}', { path: { id } });
}

export function invite(body: ConsoleInviteData['body']): Promise<ConsoleInviteResponse> {
  return call<ConsoleInviteData, ConsoleInviteResponse>('POST', '/console/api/invitations', { body });
}

export function revokeInvitation(id: string): Promise<ConsoleRevokeInvitationResponse> {
  const url = '/console/api/invitations/{id}';
  return call<ConsoleRevokeInvitationData, ConsoleRevokeInvitationResponse>('DELETE', url, { path: { id } });
}

export function readInvitation(token: string): Promise<ConsoleGetInvitationResponse> {
  const url = '/console/api/invitation-lookup';
  return call<ConsoleGetInvitationData, ConsoleGetInvitationResponse>('POST', url, { body: { token } }, { ownRefusals: true });
}

export function acceptInvitation(body: ConsoleAcceptInvitationData['body']): Promise<ConsoleAcceptInvitationResponse> {
  const url = '/console/api/invitation-acceptance';
  return call<ConsoleAcceptInvitationData, ConsoleAcceptInvitationResponse>('POST', url, { body }, { ownRefusals: true });
}
