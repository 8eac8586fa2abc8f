/**
 * Who may call which operation of the console. Only this file decides it: pages merely hide what is refused here. An
 * operation that is missing is a compile error.
 */
import type { ConsoleOperationId } from '../register.ts';

/**
 * `anyone`: without a session. `member`: every person of the account. `admin`: the account's admins. `operator`: operators of
 * the service, whatever their role in their account.
 */
export type Permission = 'anyone' | 'member' | 'admin' | 'operator';

export const permissions: Readonly<Record<ConsoleOperationId, Permission>> = {
  consoleSignUp: 'anyone',
  consoleSignIn: 'anyone',
  consoleUsePasswordLink: 'anyone',
  consoleGetInvitation: 'anyone',
  consoleAcceptInvitation: 'anyone',

  // The person's own session, password and second factor
  consoleSignOut: 'member',
  consoleGetSession: 'member',
  consoleChangePassword: 'member',
  consoleListSessions: 'member',
  consoleEndOtherSessions: 'member',
  consoleEndSession: 'member',
  consoleGetTwoFactor: 'member',
  consoleBeginTwoFactor: 'member',
  consoleConfirmTwoFactor: 'member',
  consoleReplaceRecoveryCodes: 'member',
  consoleDisableTwoFactor: 'member',

  // Jobs, previews and uploads
  consoleCreateJob: 'member',
  consoleCreateQuote: 'member',
  consoleListJobs: 'member',
  consoleGetJob: 'member',
  consoleDeleteJob: 'member',
  consoleGetJobLinks: 'member',
  consoleStreamJobs: 'member',
  consoleCreatePreview: 'member',
  consoleGetPreview: 'member',
  consoleListPreviews: 'member',
  consoleDeletePreview: 'member',
  consoleCreateUpload: 'member',
  consoleGetUpload: 'member',
  consoleCompleteUpload: 'member',
  consoleDeleteUpload: 'member',

  // Reading
  consoleListKeys: 'member',
  consoleListDeliveries: 'member',
  consoleGetDelivery: 'member',
  consoleListWebhookEndpoints: 'member',
  consoleListRequestLog: 'member',
  consoleListLedger: 'member',
  consoleGetUsage: 'member',
  consoleListAuditLog: 'member',
  consoleExportAuditLog: 'member',
  consoleListCertificates: 'member',
  consoleListPeople: 'member',
  consoleListInvitations: 'member',

  // Keys, webhooks, retention and people. The secret is not for members to read: with it one can forge events.
  consoleUpdateAccount: 'admin',
  consoleCreateKey: 'admin',
  consoleRenameKey: 'admin',
  consoleRevokeKey: 'admin',
  consoleRotateKey: 'admin',
  consoleGetWebhookSecret: 'admin',
  consoleRotateWebhookSecret: 'admin',
  consoleSwitchWebhookSecret: 'admin',
  consoleResendDelivery: 'admin',
  consoleTestWebhook: 'admin',
  consoleCreateWebhookEndpoint: 'admin',
  consoleUpdateWebhookEndpoint: 'admin',
  consoleDeleteWebhookEndpoint: 'admin',
  consoleRotateWebhookEndpointSecret: 'admin',
  consoleSwitchWebhookEndpointSecret: 'admin',
  consoleTestWebhookEndpoint: 'admin',
  consoleChangeRole: 'admin',
  consoleRemovePerson: 'admin',
  consoleInvite: 'admin',
  consoleRevokeInvitation: 'admin',

  operatorGetOverview: 'operator',
  operatorGetHistory: 'operator',
  operatorListAccounts: 'operator',
  operatorDecide: 'operator',
  operatorGrant: 'operator',
  operatorWithdraw: 'operator',
  operatorSetPlan: 'operator',
  operatorSetQuotas: 'operator',
  operatorCloseAccount: 'operator',
  operatorListWorkers: 'operator',
  operatorListFailures: 'operator',
  operatorChangeRole: 'operator',
  operatorRemovePerson: 'operator',
  operatorCreatePasswordLink: 'operator',
  operatorResetTwoFactor: 'operator',
};
