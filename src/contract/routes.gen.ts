// Generated from openapi.yaml by `npm run generate`; do not edit.

import { coercedQuery } from './coerce.ts';
import { createRoute } from '@hono/zod-openapi';
import * as z from 'zod';

import { zAccount, zAuditExport, zAuditLog, zCompleteUploadBody, zCompleteUploadPath, zConsoleAcceptInvitationBody, zConsoleAccount, zConsoleBeginTwoFactorBody, zConsoleCertificateList, zConsoleChangePasswordBody, zConsoleChangeRoleBody, zConsoleChangeRolePath, zConsoleCompleteUploadBody, zConsoleCompleteUploadPath, zConsoleConfirmTwoFactorBody, zConsoleCreateJobBody, zConsoleCreateJobHeaders, zConsoleCreateKeyBody, zConsoleCreatePreviewBody, zConsoleCreatePreviewHeaders, zConsoleCreateQuoteBody, zConsoleCreateUploadBody, zConsoleCreateUploadHeaders, zConsoleCreateWebhookEndpointBody, zConsoleDeleteJobPath, zConsoleDeletePreviewPath, zConsoleDeleteUploadPath, zConsoleDeleteWebhookEndpointPath, zConsoleDeliveryDetail, zConsoleDeliveryList, zConsoleDisableTwoFactorBody, zConsoleEndSessionPath, zConsoleGetDeliveryPath, zConsoleGetInvitationBody, zConsoleGetJobLinksPath, zConsoleGetJobPath, zConsoleGetPreviewPath, zConsoleGetUploadPath, zConsoleGetUsageQuery, zConsoleInvitationDetail, zConsoleInvitationList, zConsoleInviteBody, zConsoleJob, zConsoleJobDetail, zConsoleJobLinks, zConsoleJobList, zConsoleKey, zConsoleKeyList, zConsoleListAuditLogQuery, zConsoleListCertificatesQuery, zConsoleListDeliveriesQuery, zConsoleListInvitationsQuery, zConsoleListJobsQuery, zConsoleListKeysQuery, zConsoleListLedgerQuery, zConsoleListPeopleQuery, zConsoleListPreviewsQuery, zConsoleListRequestLogQuery, zConsoleListSessionsQuery, zConsoleNewInvitation, zConsoleNewKey, zConsolePasswordLinkUsed, zConsolePerson, zConsolePersonList, zConsolePreview, zConsolePreviewList, zConsoleRecoveryCodes, zConsoleRemoved, zConsoleRemovePersonPath, zConsoleRenameKeyBody, zConsoleRenameKeyPath, zConsoleReplaceRecoveryCodesBody, zConsoleResendDeliveryPath, zConsoleRevokeInvitationPath, zConsoleRevokeKeyPath, zConsoleRotatedKey, zConsoleRotateKeyBody, zConsoleRotateKeyPath, zConsoleRotateWebhookEndpointSecretPath, zConsoleSession, zConsoleSessionList, zConsoleSessionsEnded, zConsoleSignedOut, zConsoleSignInBody, zConsoleSignUpBody, zConsoleSignUpResult, zConsoleSwitchWebhookEndpointSecretPath, zConsoleTestWebhookBody, zConsoleTestWebhookEndpointBody, zConsoleTestWebhookEndpointPath, zConsoleTwoFactor, zConsoleTwoFactorEnrolment, zConsoleUpdateAccountBody, zConsoleUpdateWebhookEndpointBody, zConsoleUpdateWebhookEndpointPath, zConsoleUsage, zConsoleUsePasswordLinkBody, zConsoleWebhookSecret, zConsoleWebhookTest, zCreateJobBody, zCreateJobHeaders, zCreatePreviewBody, zCreatePreviewHeaders, zCreateQuoteBody, zCreateUploadBody, zCreateUploadHeaders, zCreateWebhookEndpointBody, zDeleteJobPath, zDeletePreviewPath, zDeleteUploadPath, zDeleteWebhookEndpointPath, zDeletionCertificate, zDownloadFilePath, zDownloadFileQuery, zError, zGetDeletionCertificatePath, zGetJobPath, zGetJobResultPath, zGetOpenApiJsonQuery, zGetPreviewPath, zGetUploadPath, zGetUsageQuery, zGetWebhookEndpointPath, zHealth, zJob, zJobDeletion, zJobList, zJobResult, zJwks, zLedger, zListAuditLogQuery, zListJobsQuery, zListLedgerQuery, zListPreviewsQuery, zListRequestLogQuery, zListUploadsQuery, zModelList, zOpenApiDocument, zOperatorAccount, zOperatorAccountClosed, zOperatorAccountList, zOperatorChangeRoleBody, zOperatorChangeRolePath, zOperatorCloseAccountBody, zOperatorCloseAccountPath, zOperatorCreatePasswordLinkPath, zOperatorDecideBody, zOperatorDecidePath, zOperatorFailureList, zOperatorGetHistoryQuery, zOperatorGrantBody, zOperatorGrantHeaders, zOperatorGrantPath, zOperatorHistory, zOperatorListAccountsQuery, zOperatorListFailuresQuery, zOperatorListWorkersQuery, zOperatorOverview, zOperatorPasswordLink, zOperatorRemovePersonPath, zOperatorResetTwoFactorPath, zOperatorSetPlanBody, zOperatorSetPlanPath, zOperatorSetQuotasBody, zOperatorSetQuotasPath, zOperatorTwoFactorReset, zOperatorWithdrawBody, zOperatorWithdrawHeaders, zOperatorWithdrawPath, zOperatorWorkerList, zPreview, zPreviewDeletion, zPreviewList, zQuote, zReceivedPart, zRequestLogPage, zRotateWebhookEndpointSecretPath, zStreamJobEventsPath, zSwitchWebhookEndpointSecretPath, zTestWebhookEndpointBody, zTestWebhookEndpointPath, zUpdateAccountBody, zUpdateWebhookEndpointBody, zUpdateWebhookEndpointPath, zUpload, zUploadDeletion, zUploadList, zUploadPartPath, zUploadPartQuery, zUsage, zWebhookEndpoint, zWebhookEndpointDeletion, zWebhookEndpointList, zWebhookEndpointSecret, zWebhookEndpointTestResult } from './zod.gen.ts';

export const listJobsRoute = createRoute({
    operationId: 'listJobs',
    method: 'get',
    path: '/v1/jobs',
    security: [{ apiKey: [] }],
    request: {
        query: coercedQuery(zListJobsQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'listJobs 200',
            content: { 'application/json': { schema: zJobList } }
        },
        400: {
            description: 'listJobs 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'listJobs 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listJobs 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listJobs 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listJobs 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listJobs 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const createJobRoute = createRoute({
    operationId: 'createJob',
    method: 'post',
    path: '/v1/jobs',
    security: [{ apiKey: [] }],
    request: {
        headers: zCreateJobHeaders,
        body: {
            content: { 'application/json': { schema: zCreateJobBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'createJob 201',
            content: { 'application/json': { schema: zJob } }
        },
        400: {
            description: 'createJob 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'createJob 401',
            content: { 'application/json': { schema: zError } }
        },
        402: {
            description: 'createJob 402',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'createJob 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'createJob 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'createJob 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'createJob 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'createJob 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'createJob 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'createJob 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'createJob 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const createQuoteRoute = createRoute({
    operationId: 'createQuote',
    method: 'post',
    path: '/v1/quotes',
    security: [{ apiKey: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zCreateQuoteBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'createQuote 200',
            content: { 'application/json': { schema: zQuote } }
        },
        400: {
            description: 'createQuote 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'createQuote 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'createQuote 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'createQuote 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'createQuote 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'createQuote 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'createQuote 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'createQuote 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'createQuote 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'createQuote 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const deleteJobRoute = createRoute({
    operationId: 'deleteJob',
    method: 'delete',
    path: '/v1/jobs/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zDeleteJobPath
    },
    responses: {
        200: {
            description: 'deleteJob 200',
            content: { 'application/json': { schema: zJobDeletion } }
        },
        401: {
            description: 'deleteJob 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'deleteJob 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'deleteJob 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'deleteJob 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'deleteJob 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'deleteJob 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getJobRoute = createRoute({
    operationId: 'getJob',
    method: 'get',
    path: '/v1/jobs/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zGetJobPath
    },
    responses: {
        200: {
            description: 'getJob 200',
            content: { 'application/json': { schema: zJob } }
        },
        401: {
            description: 'getJob 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getJob 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'getJob 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getJob 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getJob 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getJob 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getJobResultRoute = createRoute({
    operationId: 'getJobResult',
    method: 'get',
    path: '/v1/jobs/{id}/result',
    security: [{ apiKey: [] }],
    request: {
        params: zGetJobResultPath
    },
    responses: {
        200: {
            description: 'getJobResult 200',
            content: { 'application/json': { schema: zJobResult } }
        },
        401: {
            description: 'getJobResult 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getJobResult 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'getJobResult 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'getJobResult 409',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getJobResult 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getJobResult 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getJobResult 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const streamJobEventsRoute = createRoute({
    operationId: 'streamJobEvents',
    method: 'get',
    path: '/v1/jobs/{id}/events',
    security: [{ apiKey: [] }],
    request: {
        params: zStreamJobEventsPath
    },
    responses: {
        200: {
            description: 'streamJobEvents 200',
            content: { 'text/event-stream': { schema: z.unknown() } }
        },
        401: {
            description: 'streamJobEvents 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'streamJobEvents 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'streamJobEvents 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'streamJobEvents 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'streamJobEvents 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'streamJobEvents 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getDeletionCertificateRoute = createRoute({
    operationId: 'getDeletionCertificate',
    method: 'get',
    path: '/v1/jobs/{id}/deletion-certificate',
    security: [{ apiKey: [] }],
    request: {
        params: zGetDeletionCertificatePath
    },
    responses: {
        200: {
            description: 'getDeletionCertificate 200',
            content: { 'application/json': { schema: zDeletionCertificate } }
        },
        401: {
            description: 'getDeletionCertificate 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getDeletionCertificate 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'getDeletionCertificate 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'getDeletionCertificate 409',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getDeletionCertificate 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getDeletionCertificate 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getDeletionCertificate 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const listPreviewsRoute = createRoute({
    operationId: 'listPreviews',
    method: 'get',
    path: '/v1/previews',
    security: [{ apiKey: [] }],
    request: {
        query: coercedQuery(zListPreviewsQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'listPreviews 200',
            content: { 'application/json': { schema: zPreviewList } }
        },
        400: {
            description: 'listPreviews 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'listPreviews 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listPreviews 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listPreviews 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listPreviews 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listPreviews 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const createPreviewRoute = createRoute({
    operationId: 'createPreview',
    method: 'post',
    path: '/v1/previews',
    security: [{ apiKey: [] }],
    request: {
        headers: zCreatePreviewHeaders,
        body: {
            content: { 'application/json': { schema: zCreatePreviewBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'createPreview 201',
            content: { 'application/json': { schema: zPreview } }
        },
        400: {
            description: 'createPreview 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'createPreview 401',
            content: { 'application/json': { schema: zError } }
        },
        402: {
            description: 'createPreview 402',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'createPreview 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'createPreview 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'createPreview 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'createPreview 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'createPreview 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'createPreview 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'createPreview 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'createPreview 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const deletePreviewRoute = createRoute({
    operationId: 'deletePreview',
    method: 'delete',
    path: '/v1/previews/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zDeletePreviewPath
    },
    responses: {
        200: {
            description: 'deletePreview 200',
            content: { 'application/json': { schema: zPreviewDeletion } }
        },
        401: {
            description: 'deletePreview 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'deletePreview 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'deletePreview 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'deletePreview 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'deletePreview 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'deletePreview 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getPreviewRoute = createRoute({
    operationId: 'getPreview',
    method: 'get',
    path: '/v1/previews/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zGetPreviewPath
    },
    responses: {
        200: {
            description: 'getPreview 200',
            content: { 'application/json': { schema: zPreview } }
        },
        401: {
            description: 'getPreview 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getPreview 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'getPreview 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getPreview 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getPreview 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getPreview 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const listUploadsRoute = createRoute({
    operationId: 'listUploads',
    method: 'get',
    path: '/v1/uploads',
    security: [{ apiKey: [] }],
    request: {
        query: coercedQuery(zListUploadsQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'listUploads 200',
            content: { 'application/json': { schema: zUploadList } }
        },
        400: {
            description: 'listUploads 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'listUploads 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listUploads 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listUploads 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listUploads 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listUploads 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const createUploadRoute = createRoute({
    operationId: 'createUpload',
    method: 'post',
    path: '/v1/uploads',
    security: [{ apiKey: [] }],
    request: {
        headers: zCreateUploadHeaders,
        body: {
            content: { 'application/json': { schema: zCreateUploadBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'createUpload 201',
            content: { 'application/json': { schema: zUpload } }
        },
        400: {
            description: 'createUpload 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'createUpload 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'createUpload 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'createUpload 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'createUpload 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'createUpload 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'createUpload 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'createUpload 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'createUpload 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const deleteUploadRoute = createRoute({
    operationId: 'deleteUpload',
    method: 'delete',
    path: '/v1/uploads/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zDeleteUploadPath
    },
    responses: {
        200: {
            description: 'deleteUpload 200',
            content: { 'application/json': { schema: zUploadDeletion } }
        },
        401: {
            description: 'deleteUpload 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'deleteUpload 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'deleteUpload 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'deleteUpload 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'deleteUpload 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'deleteUpload 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getUploadRoute = createRoute({
    operationId: 'getUpload',
    method: 'get',
    path: '/v1/uploads/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zGetUploadPath
    },
    responses: {
        200: {
            description: 'getUpload 200',
            content: { 'application/json': { schema: zUpload } }
        },
        401: {
            description: 'getUpload 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getUpload 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'getUpload 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getUpload 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getUpload 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getUpload 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const completeUploadRoute = createRoute({
    operationId: 'completeUpload',
    method: 'post',
    path: '/v1/uploads/{id}/complete',
    security: [{ apiKey: [] }],
    request: {
        params: zCompleteUploadPath,
        body: {
            content: { 'application/json': { schema: zCompleteUploadBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'completeUpload 200',
            content: { 'application/json': { schema: zUpload } }
        },
        400: {
            description: 'completeUpload 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'completeUpload 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'completeUpload 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'completeUpload 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'completeUpload 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'completeUpload 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'completeUpload 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'completeUpload 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'completeUpload 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'completeUpload 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const uploadPartRoute = createRoute({
    operationId: 'uploadPart',
    method: 'put',
    path: '/v1/upload-parts/:key{.+}',
    security: [],
    request: {
        params: zUploadPartPath,
        query: coercedQuery(zUploadPartQuery, {}),
        body: {
            content: { 'application/octet-stream': { schema: z.unknown() } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'uploadPart 200',
            content: { 'application/json': { schema: zReceivedPart } }
        },
        400: {
            description: 'uploadPart 400',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'uploadPart 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'uploadPart 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'uploadPart 413',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'uploadPart 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'uploadPart 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'uploadPart 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const listModelsRoute = createRoute({
    operationId: 'listModels',
    method: 'get',
    path: '/v1/models',
    security: [{ apiKey: [] }],
    responses: {
        200: {
            description: 'listModels 200',
            content: { 'application/json': { schema: zModelList } }
        },
        401: {
            description: 'listModels 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listModels 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listModels 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listModels 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listModels 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getAccountRoute = createRoute({
    operationId: 'getAccount',
    method: 'get',
    path: '/v1/account',
    security: [{ apiKey: [] }],
    responses: {
        200: {
            description: 'getAccount 200',
            content: { 'application/json': { schema: zAccount } }
        },
        401: {
            description: 'getAccount 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getAccount 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getAccount 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getAccount 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getAccount 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const updateAccountRoute = createRoute({
    operationId: 'updateAccount',
    method: 'patch',
    path: '/v1/account',
    security: [{ apiKey: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zUpdateAccountBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'updateAccount 200',
            content: { 'application/json': { schema: zAccount } }
        },
        400: {
            description: 'updateAccount 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'updateAccount 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'updateAccount 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'updateAccount 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'updateAccount 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'updateAccount 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'updateAccount 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'updateAccount 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const listLedgerRoute = createRoute({
    operationId: 'listLedger',
    method: 'get',
    path: '/v1/ledger',
    security: [{ apiKey: [] }],
    request: {
        query: coercedQuery(zListLedgerQuery, { limit: 'number', starting_after: 'number' })
    },
    responses: {
        200: {
            description: 'listLedger 200',
            content: { 'application/json': { schema: zLedger } }
        },
        400: {
            description: 'listLedger 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'listLedger 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listLedger 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listLedger 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listLedger 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listLedger 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getUsageRoute = createRoute({
    operationId: 'getUsage',
    method: 'get',
    path: '/v1/usage',
    security: [{ apiKey: [] }],
    request: {
        query: coercedQuery(zGetUsageQuery, {})
    },
    responses: {
        200: {
            description: 'getUsage 200',
            content: { 'application/json': { schema: zUsage } }
        },
        400: {
            description: 'getUsage 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'getUsage 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getUsage 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getUsage 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getUsage 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getUsage 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const listWebhookEndpointsRoute = createRoute({
    operationId: 'listWebhookEndpoints',
    method: 'get',
    path: '/v1/webhook-endpoints',
    security: [{ apiKey: [] }],
    responses: {
        200: {
            description: 'listWebhookEndpoints 200',
            content: { 'application/json': { schema: zWebhookEndpointList } }
        },
        401: {
            description: 'listWebhookEndpoints 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listWebhookEndpoints 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listWebhookEndpoints 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listWebhookEndpoints 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listWebhookEndpoints 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const createWebhookEndpointRoute = createRoute({
    operationId: 'createWebhookEndpoint',
    method: 'post',
    path: '/v1/webhook-endpoints',
    security: [{ apiKey: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zCreateWebhookEndpointBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'createWebhookEndpoint 201',
            content: { 'application/json': { schema: zWebhookEndpointSecret } }
        },
        400: {
            description: 'createWebhookEndpoint 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'createWebhookEndpoint 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'createWebhookEndpoint 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'createWebhookEndpoint 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'createWebhookEndpoint 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'createWebhookEndpoint 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'createWebhookEndpoint 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'createWebhookEndpoint 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'createWebhookEndpoint 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const deleteWebhookEndpointRoute = createRoute({
    operationId: 'deleteWebhookEndpoint',
    method: 'delete',
    path: '/v1/webhook-endpoints/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zDeleteWebhookEndpointPath
    },
    responses: {
        200: {
            description: 'deleteWebhookEndpoint 200',
            content: { 'application/json': { schema: zWebhookEndpointDeletion } }
        },
        401: {
            description: 'deleteWebhookEndpoint 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'deleteWebhookEndpoint 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'deleteWebhookEndpoint 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'deleteWebhookEndpoint 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'deleteWebhookEndpoint 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'deleteWebhookEndpoint 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getWebhookEndpointRoute = createRoute({
    operationId: 'getWebhookEndpoint',
    method: 'get',
    path: '/v1/webhook-endpoints/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zGetWebhookEndpointPath
    },
    responses: {
        200: {
            description: 'getWebhookEndpoint 200',
            content: { 'application/json': { schema: zWebhookEndpoint } }
        },
        401: {
            description: 'getWebhookEndpoint 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'getWebhookEndpoint 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'getWebhookEndpoint 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'getWebhookEndpoint 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getWebhookEndpoint 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getWebhookEndpoint 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const updateWebhookEndpointRoute = createRoute({
    operationId: 'updateWebhookEndpoint',
    method: 'patch',
    path: '/v1/webhook-endpoints/{id}',
    security: [{ apiKey: [] }],
    request: {
        params: zUpdateWebhookEndpointPath,
        body: {
            content: { 'application/json': { schema: zUpdateWebhookEndpointBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'updateWebhookEndpoint 200',
            content: { 'application/json': { schema: zWebhookEndpoint } }
        },
        400: {
            description: 'updateWebhookEndpoint 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'updateWebhookEndpoint 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'updateWebhookEndpoint 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'updateWebhookEndpoint 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'updateWebhookEndpoint 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'updateWebhookEndpoint 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'updateWebhookEndpoint 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'updateWebhookEndpoint 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'updateWebhookEndpoint 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const rotateWebhookEndpointSecretRoute = createRoute({
    operationId: 'rotateWebhookEndpointSecret',
    method: 'post',
    path: '/v1/webhook-endpoints/{id}/secret/rotation',
    security: [{ apiKey: [] }],
    request: {
        params: zRotateWebhookEndpointSecretPath
    },
    responses: {
        201: {
            description: 'rotateWebhookEndpointSecret 201',
            content: { 'application/json': { schema: zWebhookEndpointSecret } }
        },
        401: {
            description: 'rotateWebhookEndpointSecret 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'rotateWebhookEndpointSecret 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'rotateWebhookEndpointSecret 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'rotateWebhookEndpointSecret 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'rotateWebhookEndpointSecret 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'rotateWebhookEndpointSecret 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const switchWebhookEndpointSecretRoute = createRoute({
    operationId: 'switchWebhookEndpointSecret',
    method: 'post',
    path: '/v1/webhook-endpoints/{id}/secret/switch',
    security: [{ apiKey: [] }],
    request: {
        params: zSwitchWebhookEndpointSecretPath
    },
    responses: {
        200: {
            description: 'switchWebhookEndpointSecret 200',
            content: { 'application/json': { schema: zWebhookEndpoint } }
        },
        401: {
            description: 'switchWebhookEndpointSecret 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'switchWebhookEndpointSecret 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'switchWebhookEndpointSecret 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'switchWebhookEndpointSecret 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'switchWebhookEndpointSecret 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'switchWebhookEndpointSecret 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const testWebhookEndpointRoute = createRoute({
    operationId: 'testWebhookEndpoint',
    method: 'post',
    path: '/v1/webhook-endpoints/{id}/test',
    security: [{ apiKey: [] }],
    request: {
        params: zTestWebhookEndpointPath,
        body: {
            content: { 'application/json': { schema: zTestWebhookEndpointBody } },
            required: true
        }
    },
    responses: {
        202: {
            description: 'testWebhookEndpoint 202',
            content: { 'application/json': { schema: zWebhookEndpointTestResult } }
        },
        400: {
            description: 'testWebhookEndpoint 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'testWebhookEndpoint 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'testWebhookEndpoint 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'testWebhookEndpoint 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'testWebhookEndpoint 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'testWebhookEndpoint 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'testWebhookEndpoint 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'testWebhookEndpoint 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'testWebhookEndpoint 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const listRequestLogRoute = createRoute({
    operationId: 'listRequestLog',
    method: 'get',
    path: '/v1/request-log',
    security: [{ apiKey: [] }],
    request: {
        query: coercedQuery(zListRequestLogQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'listRequestLog 200',
            content: { 'application/json': { schema: zRequestLogPage } }
        },
        400: {
            description: 'listRequestLog 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'listRequestLog 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listRequestLog 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listRequestLog 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listRequestLog 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listRequestLog 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const listAuditLogRoute = createRoute({
    operationId: 'listAuditLog',
    method: 'get',
    path: '/v1/audit-log',
    security: [{ apiKey: [] }],
    request: {
        query: coercedQuery(zListAuditLogQuery, { limit: 'number', starting_after: 'number' })
    },
    responses: {
        200: {
            description: 'listAuditLog 200',
            content: { 'application/json': { schema: zAuditLog } }
        },
        400: {
            description: 'listAuditLog 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'listAuditLog 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'listAuditLog 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'listAuditLog 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'listAuditLog 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'listAuditLog 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getJwksRoute = createRoute({
    operationId: 'getJwks',
    method: 'get',
    path: '/.well-known/jwks.json',
    security: [],
    responses: {
        200: {
            description: 'getJwks 200',
            content: { 'application/json': { schema: zJwks } }
        },
        500: {
            description: 'getJwks 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getJwks 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getOpenApiJsonRoute = createRoute({
    operationId: 'getOpenApiJson',
    method: 'get',
    path: '/v1/openapi.json',
    security: [],
    request: {
        query: coercedQuery(zGetOpenApiJsonQuery, { console: 'boolean' })
    },
    responses: {
        200: {
            description: 'getOpenApiJson 200',
            content: { 'application/json': { schema: zOpenApiDocument } }
        },
        400: {
            description: 'getOpenApiJson 400',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getOpenApiJson 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getOpenApiYamlRoute = createRoute({
    operationId: 'getOpenApiYaml',
    method: 'get',
    path: '/v1/openapi.yaml',
    security: [],
    responses: {
        200: {
            description: 'getOpenApiYaml 200',
            content: { 'application/yaml': { schema: z.unknown() } }
        },
        500: {
            description: 'getOpenApiYaml 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getDocsRoute = createRoute({
    operationId: 'getDocs',
    method: 'get',
    path: '/docs',
    security: [],
    responses: {
        200: {
            description: 'getDocs 200',
            content: { 'text/html': { schema: z.unknown() } }
        },
        404: {
            description: 'getDocs 404',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'getDocs 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const downloadFileRoute = createRoute({
    operationId: 'downloadFile',
    method: 'get',
    path: '/v1/downloads/:key{.+}',
    security: [],
    request: {
        params: zDownloadFilePath,
        query: coercedQuery(zDownloadFileQuery, {})
    },
    responses: {
        200: {
            description: 'downloadFile 200',
            content: { 'video/mp4': { schema: z.unknown() } }
        },
        206: {
            description: 'downloadFile 206',
            content: { 'video/mp4': { schema: z.unknown() } }
        },
        304: {
            description: 'downloadFile 304'
        },
        403: {
            description: 'downloadFile 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'downloadFile 404',
            content: { 'application/json': { schema: zError } }
        },
        416: {
            description: 'downloadFile 416',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'downloadFile 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'downloadFile 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getHealthRoute = createRoute({
    operationId: 'getHealth',
    method: 'get',
    path: '/healthz',
    security: [],
    responses: {
        200: {
            description: 'getHealth 200',
            content: { 'application/json': { schema: zHealth } }
        },
        500: {
            description: 'getHealth 500',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const getReadinessRoute = createRoute({
    operationId: 'getReadiness',
    method: 'get',
    path: '/readyz',
    security: [],
    responses: {
        200: {
            description: 'getReadiness 200',
            content: { 'application/json': { schema: zHealth } }
        },
        500: {
            description: 'getReadiness 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'getReadiness 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleSignUpRoute = createRoute({
    operationId: 'consoleSignUp',
    method: 'post',
    path: '/console/api/sign-up',
    security: [],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleSignUpBody } },
            required: true
        }
    },
    responses: {
        202: {
            description: 'consoleSignUp 202',
            content: { 'application/json': { schema: zConsoleSignUpResult } }
        },
        400: {
            description: 'consoleSignUp 400',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleSignUp 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleSignUp 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleSignUp 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleSignUp 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleSignUp 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleSignUp 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleSignInRoute = createRoute({
    operationId: 'consoleSignIn',
    method: 'post',
    path: '/console/api/sign-in',
    security: [],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleSignInBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleSignIn 200',
            content: { 'application/json': { schema: zConsoleSession } }
        },
        400: {
            description: 'consoleSignIn 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleSignIn 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleSignIn 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleSignIn 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleSignIn 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleSignIn 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleSignIn 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleSignIn 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleSignOutRoute = createRoute({
    operationId: 'consoleSignOut',
    method: 'post',
    path: '/console/api/sign-out',
    security: [{ consoleSession: [], csrfToken: [] }],
    responses: {
        200: {
            description: 'consoleSignOut 200',
            content: { 'application/json': { schema: zConsoleSignedOut } }
        },
        401: {
            description: 'consoleSignOut 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleSignOut 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleSignOut 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleSignOut 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleSignOut 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetSessionRoute = createRoute({
    operationId: 'consoleGetSession',
    method: 'get',
    path: '/console/api/session',
    security: [{ consoleSession: [] }],
    responses: {
        200: {
            description: 'consoleGetSession 200',
            content: { 'application/json': { schema: zConsoleSession } }
        },
        401: {
            description: 'consoleGetSession 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetSession 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetSession 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetSession 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleChangePasswordRoute = createRoute({
    operationId: 'consoleChangePassword',
    method: 'post',
    path: '/console/api/password',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleChangePasswordBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleChangePassword 200',
            content: { 'application/json': { schema: zConsoleSessionsEnded } }
        },
        400: {
            description: 'consoleChangePassword 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleChangePassword 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleChangePassword 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleChangePassword 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleChangePassword 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleChangePassword 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleChangePassword 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleChangePassword 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleUsePasswordLinkRoute = createRoute({
    operationId: 'consoleUsePasswordLink',
    method: 'post',
    path: '/console/api/password-link',
    security: [],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleUsePasswordLinkBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleUsePasswordLink 200',
            content: { 'application/json': { schema: zConsolePasswordLinkUsed } }
        },
        400: {
            description: 'consoleUsePasswordLink 400',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleUsePasswordLink 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleUsePasswordLink 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleUsePasswordLink 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleUsePasswordLink 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleUsePasswordLink 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleUsePasswordLink 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetTwoFactorRoute = createRoute({
    operationId: 'consoleGetTwoFactor',
    method: 'get',
    path: '/console/api/two-factor',
    security: [{ consoleSession: [] }],
    responses: {
        200: {
            description: 'consoleGetTwoFactor 200',
            content: { 'application/json': { schema: zConsoleTwoFactor } }
        },
        401: {
            description: 'consoleGetTwoFactor 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetTwoFactor 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetTwoFactor 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetTwoFactor 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleBeginTwoFactorRoute = createRoute({
    operationId: 'consoleBeginTwoFactor',
    method: 'post',
    path: '/console/api/two-factor',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleBeginTwoFactorBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleBeginTwoFactor 201',
            content: { 'application/json': { schema: zConsoleTwoFactorEnrolment } }
        },
        400: {
            description: 'consoleBeginTwoFactor 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleBeginTwoFactor 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleBeginTwoFactor 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleBeginTwoFactor 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleBeginTwoFactor 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleBeginTwoFactor 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleBeginTwoFactor 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleBeginTwoFactor 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleBeginTwoFactor 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleConfirmTwoFactorRoute = createRoute({
    operationId: 'consoleConfirmTwoFactor',
    method: 'post',
    path: '/console/api/two-factor/confirmation',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleConfirmTwoFactorBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleConfirmTwoFactor 200',
            content: { 'application/json': { schema: zConsoleRecoveryCodes } }
        },
        400: {
            description: 'consoleConfirmTwoFactor 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleConfirmTwoFactor 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleConfirmTwoFactor 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleConfirmTwoFactor 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleConfirmTwoFactor 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleConfirmTwoFactor 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleConfirmTwoFactor 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleConfirmTwoFactor 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleConfirmTwoFactor 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleReplaceRecoveryCodesRoute = createRoute({
    operationId: 'consoleReplaceRecoveryCodes',
    method: 'post',
    path: '/console/api/two-factor/recovery-codes',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleReplaceRecoveryCodesBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleReplaceRecoveryCodes 201',
            content: { 'application/json': { schema: zConsoleRecoveryCodes } }
        },
        400: {
            description: 'consoleReplaceRecoveryCodes 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleReplaceRecoveryCodes 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleReplaceRecoveryCodes 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleReplaceRecoveryCodes 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleReplaceRecoveryCodes 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleReplaceRecoveryCodes 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleReplaceRecoveryCodes 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleReplaceRecoveryCodes 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleReplaceRecoveryCodes 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleDisableTwoFactorRoute = createRoute({
    operationId: 'consoleDisableTwoFactor',
    method: 'post',
    path: '/console/api/two-factor/removal',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleDisableTwoFactorBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleDisableTwoFactor 200',
            content: { 'application/json': { schema: zConsoleTwoFactor } }
        },
        400: {
            description: 'consoleDisableTwoFactor 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleDisableTwoFactor 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleDisableTwoFactor 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleDisableTwoFactor 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleDisableTwoFactor 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleDisableTwoFactor 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleDisableTwoFactor 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleDisableTwoFactor 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleDisableTwoFactor 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleEndOtherSessionsRoute = createRoute({
    operationId: 'consoleEndOtherSessions',
    method: 'delete',
    path: '/console/api/sessions',
    security: [{ consoleSession: [], csrfToken: [] }],
    responses: {
        200: {
            description: 'consoleEndOtherSessions 200',
            content: { 'application/json': { schema: zConsoleSessionsEnded } }
        },
        401: {
            description: 'consoleEndOtherSessions 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleEndOtherSessions 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleEndOtherSessions 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleEndOtherSessions 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleEndOtherSessions 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListSessionsRoute = createRoute({
    operationId: 'consoleListSessions',
    method: 'get',
    path: '/console/api/sessions',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListSessionsQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListSessions 200',
            content: { 'application/json': { schema: zConsoleSessionList } }
        },
        400: {
            description: 'consoleListSessions 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListSessions 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListSessions 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListSessions 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListSessions 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleEndSessionRoute = createRoute({
    operationId: 'consoleEndSession',
    method: 'delete',
    path: '/console/api/sessions/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleEndSessionPath
    },
    responses: {
        200: {
            description: 'consoleEndSession 200',
            content: { 'application/json': { schema: zConsoleSessionsEnded } }
        },
        401: {
            description: 'consoleEndSession 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleEndSession 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleEndSession 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleEndSession 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleEndSession 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleEndSession 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleUpdateAccountRoute = createRoute({
    operationId: 'consoleUpdateAccount',
    method: 'patch',
    path: '/console/api/account',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleUpdateAccountBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleUpdateAccount 200',
            content: { 'application/json': { schema: zConsoleAccount } }
        },
        400: {
            description: 'consoleUpdateAccount 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleUpdateAccount 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleUpdateAccount 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleUpdateAccount 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleUpdateAccount 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleUpdateAccount 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleUpdateAccount 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleUpdateAccount 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListPeopleRoute = createRoute({
    operationId: 'consoleListPeople',
    method: 'get',
    path: '/console/api/people',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListPeopleQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListPeople 200',
            content: { 'application/json': { schema: zConsolePersonList } }
        },
        400: {
            description: 'consoleListPeople 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListPeople 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListPeople 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListPeople 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListPeople 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleRemovePersonRoute = createRoute({
    operationId: 'consoleRemovePerson',
    method: 'delete',
    path: '/console/api/people/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleRemovePersonPath
    },
    responses: {
        200: {
            description: 'consoleRemovePerson 200',
            content: { 'application/json': { schema: zConsoleRemoved } }
        },
        401: {
            description: 'consoleRemovePerson 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleRemovePerson 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleRemovePerson 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleRemovePerson 409',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleRemovePerson 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleRemovePerson 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleRemovePerson 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleChangeRoleRoute = createRoute({
    operationId: 'consoleChangeRole',
    method: 'patch',
    path: '/console/api/people/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleChangeRolePath,
        body: {
            content: { 'application/json': { schema: zConsoleChangeRoleBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleChangeRole 200',
            content: { 'application/json': { schema: zConsolePerson } }
        },
        400: {
            description: 'consoleChangeRole 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleChangeRole 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleChangeRole 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleChangeRole 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleChangeRole 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleChangeRole 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleChangeRole 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleChangeRole 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleChangeRole 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleChangeRole 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListInvitationsRoute = createRoute({
    operationId: 'consoleListInvitations',
    method: 'get',
    path: '/console/api/invitations',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListInvitationsQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListInvitations 200',
            content: { 'application/json': { schema: zConsoleInvitationList } }
        },
        400: {
            description: 'consoleListInvitations 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListInvitations 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListInvitations 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListInvitations 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListInvitations 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleInviteRoute = createRoute({
    operationId: 'consoleInvite',
    method: 'post',
    path: '/console/api/invitations',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleInviteBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleInvite 201',
            content: { 'application/json': { schema: zConsoleNewInvitation } }
        },
        400: {
            description: 'consoleInvite 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleInvite 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleInvite 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleInvite 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleInvite 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleInvite 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleInvite 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleInvite 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleInvite 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleRevokeInvitationRoute = createRoute({
    operationId: 'consoleRevokeInvitation',
    method: 'delete',
    path: '/console/api/invitations/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleRevokeInvitationPath
    },
    responses: {
        200: {
            description: 'consoleRevokeInvitation 200',
            content: { 'application/json': { schema: zConsoleRemoved } }
        },
        401: {
            description: 'consoleRevokeInvitation 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleRevokeInvitation 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleRevokeInvitation 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleRevokeInvitation 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleRevokeInvitation 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleRevokeInvitation 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetInvitationRoute = createRoute({
    operationId: 'consoleGetInvitation',
    method: 'post',
    path: '/console/api/invitation-lookup',
    security: [],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleGetInvitationBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleGetInvitation 200',
            content: { 'application/json': { schema: zConsoleInvitationDetail } }
        },
        400: {
            description: 'consoleGetInvitation 400',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleGetInvitation 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleGetInvitation 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleGetInvitation 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetInvitation 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetInvitation 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetInvitation 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleAcceptInvitationRoute = createRoute({
    operationId: 'consoleAcceptInvitation',
    method: 'post',
    path: '/console/api/invitation-acceptance',
    security: [],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleAcceptInvitationBody } },
            required: true
        }
    },
    responses: {
        202: {
            description: 'consoleAcceptInvitation 202',
            content: { 'application/json': { schema: zConsoleSignUpResult } }
        },
        400: {
            description: 'consoleAcceptInvitation 400',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleAcceptInvitation 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleAcceptInvitation 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleAcceptInvitation 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleAcceptInvitation 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleAcceptInvitation 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleAcceptInvitation 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListKeysRoute = createRoute({
    operationId: 'consoleListKeys',
    method: 'get',
    path: '/console/api/keys',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListKeysQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListKeys 200',
            content: { 'application/json': { schema: zConsoleKeyList } }
        },
        400: {
            description: 'consoleListKeys 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListKeys 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListKeys 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListKeys 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListKeys 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleCreateKeyRoute = createRoute({
    operationId: 'consoleCreateKey',
    method: 'post',
    path: '/console/api/keys',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleCreateKeyBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleCreateKey 201',
            content: { 'application/json': { schema: zConsoleNewKey } }
        },
        400: {
            description: 'consoleCreateKey 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleCreateKey 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleCreateKey 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleCreateKey 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleCreateKey 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleCreateKey 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleCreateKey 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleCreateKey 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleCreateKey 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleRevokeKeyRoute = createRoute({
    operationId: 'consoleRevokeKey',
    method: 'delete',
    path: '/console/api/keys/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleRevokeKeyPath
    },
    responses: {
        200: {
            description: 'consoleRevokeKey 200',
            content: { 'application/json': { schema: zConsoleKey } }
        },
        401: {
            description: 'consoleRevokeKey 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleRevokeKey 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleRevokeKey 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleRevokeKey 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleRevokeKey 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleRevokeKey 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleRenameKeyRoute = createRoute({
    operationId: 'consoleRenameKey',
    method: 'patch',
    path: '/console/api/keys/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleRenameKeyPath,
        body: {
            content: { 'application/json': { schema: zConsoleRenameKeyBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleRenameKey 200',
            content: { 'application/json': { schema: zConsoleKey } }
        },
        400: {
            description: 'consoleRenameKey 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleRenameKey 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleRenameKey 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleRenameKey 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleRenameKey 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleRenameKey 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleRenameKey 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleRenameKey 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleRenameKey 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleRotateKeyRoute = createRoute({
    operationId: 'consoleRotateKey',
    method: 'post',
    path: '/console/api/keys/{id}/rotation',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleRotateKeyPath,
        body: {
            content: { 'application/json': { schema: zConsoleRotateKeyBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleRotateKey 201',
            content: { 'application/json': { schema: zConsoleRotatedKey } }
        },
        400: {
            description: 'consoleRotateKey 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleRotateKey 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleRotateKey 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleRotateKey 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleRotateKey 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleRotateKey 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleRotateKey 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleRotateKey 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleRotateKey 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleRotateKey 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListJobsRoute = createRoute({
    operationId: 'consoleListJobs',
    method: 'get',
    path: '/console/api/jobs',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListJobsQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListJobs 200',
            content: { 'application/json': { schema: zConsoleJobList } }
        },
        400: {
            description: 'consoleListJobs 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListJobs 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListJobs 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListJobs 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListJobs 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleCreateJobRoute = createRoute({
    operationId: 'consoleCreateJob',
    method: 'post',
    path: '/console/api/jobs',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        headers: zConsoleCreateJobHeaders,
        body: {
            content: { 'application/json': { schema: zConsoleCreateJobBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleCreateJob 201',
            content: { 'application/json': { schema: zConsoleJob } }
        },
        400: {
            description: 'consoleCreateJob 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleCreateJob 401',
            content: { 'application/json': { schema: zError } }
        },
        402: {
            description: 'consoleCreateJob 402',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleCreateJob 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleCreateJob 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleCreateJob 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleCreateJob 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleCreateJob 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleCreateJob 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleCreateJob 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleCreateJob 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleCreateQuoteRoute = createRoute({
    operationId: 'consoleCreateQuote',
    method: 'post',
    path: '/console/api/quotes',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleCreateQuoteBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleCreateQuote 200',
            content: { 'application/json': { schema: zQuote } }
        },
        400: {
            description: 'consoleCreateQuote 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleCreateQuote 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleCreateQuote 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleCreateQuote 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleCreateQuote 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleCreateQuote 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleCreateQuote 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleCreateQuote 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleCreateQuote 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleCreateQuote 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleDeleteJobRoute = createRoute({
    operationId: 'consoleDeleteJob',
    method: 'delete',
    path: '/console/api/jobs/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleDeleteJobPath
    },
    responses: {
        200: {
            description: 'consoleDeleteJob 200',
            content: { 'application/json': { schema: zJobDeletion } }
        },
        401: {
            description: 'consoleDeleteJob 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleDeleteJob 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleDeleteJob 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleDeleteJob 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleDeleteJob 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleDeleteJob 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetJobRoute = createRoute({
    operationId: 'consoleGetJob',
    method: 'get',
    path: '/console/api/jobs/{id}',
    security: [{ consoleSession: [] }],
    request: {
        params: zConsoleGetJobPath
    },
    responses: {
        200: {
            description: 'consoleGetJob 200',
            content: { 'application/json': { schema: zConsoleJobDetail } }
        },
        401: {
            description: 'consoleGetJob 401',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleGetJob 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetJob 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetJob 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetJob 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetJobLinksRoute = createRoute({
    operationId: 'consoleGetJobLinks',
    method: 'get',
    path: '/console/api/jobs/{id}/links',
    security: [{ consoleSession: [] }],
    request: {
        params: zConsoleGetJobLinksPath
    },
    responses: {
        200: {
            description: 'consoleGetJobLinks 200',
            content: { 'application/json': { schema: zConsoleJobLinks } }
        },
        401: {
            description: 'consoleGetJobLinks 401',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleGetJobLinks 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetJobLinks 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetJobLinks 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetJobLinks 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleStreamJobsRoute = createRoute({
    operationId: 'consoleStreamJobs',
    method: 'get',
    path: '/console/api/job-events',
    security: [{ consoleSession: [] }],
    responses: {
        200: {
            description: 'consoleStreamJobs 200',
            content: { 'text/event-stream': { schema: z.unknown() } }
        },
        401: {
            description: 'consoleStreamJobs 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleStreamJobs 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleStreamJobs 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleStreamJobs 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListPreviewsRoute = createRoute({
    operationId: 'consoleListPreviews',
    method: 'get',
    path: '/console/api/previews',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListPreviewsQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListPreviews 200',
            content: { 'application/json': { schema: zConsolePreviewList } }
        },
        400: {
            description: 'consoleListPreviews 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListPreviews 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListPreviews 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListPreviews 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListPreviews 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleCreatePreviewRoute = createRoute({
    operationId: 'consoleCreatePreview',
    method: 'post',
    path: '/console/api/previews',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        headers: zConsoleCreatePreviewHeaders,
        body: {
            content: { 'application/json': { schema: zConsoleCreatePreviewBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleCreatePreview 201',
            content: { 'application/json': { schema: zPreview } }
        },
        400: {
            description: 'consoleCreatePreview 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleCreatePreview 401',
            content: { 'application/json': { schema: zError } }
        },
        402: {
            description: 'consoleCreatePreview 402',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleCreatePreview 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleCreatePreview 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleCreatePreview 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleCreatePreview 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleCreatePreview 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleCreatePreview 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleCreatePreview 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleCreatePreview 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleDeletePreviewRoute = createRoute({
    operationId: 'consoleDeletePreview',
    method: 'delete',
    path: '/console/api/previews/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleDeletePreviewPath
    },
    responses: {
        200: {
            description: 'consoleDeletePreview 200',
            content: { 'application/json': { schema: zPreviewDeletion } }
        },
        401: {
            description: 'consoleDeletePreview 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleDeletePreview 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleDeletePreview 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleDeletePreview 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleDeletePreview 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleDeletePreview 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetPreviewRoute = createRoute({
    operationId: 'consoleGetPreview',
    method: 'get',
    path: '/console/api/previews/{id}',
    security: [{ consoleSession: [] }],
    request: {
        params: zConsoleGetPreviewPath
    },
    responses: {
        200: {
            description: 'consoleGetPreview 200',
            content: { 'application/json': { schema: zConsolePreview } }
        },
        401: {
            description: 'consoleGetPreview 401',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleGetPreview 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetPreview 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetPreview 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetPreview 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleCreateUploadRoute = createRoute({
    operationId: 'consoleCreateUpload',
    method: 'post',
    path: '/console/api/uploads',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        headers: zConsoleCreateUploadHeaders,
        body: {
            content: { 'application/json': { schema: zConsoleCreateUploadBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleCreateUpload 201',
            content: { 'application/json': { schema: zUpload } }
        },
        400: {
            description: 'consoleCreateUpload 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleCreateUpload 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleCreateUpload 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleCreateUpload 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleCreateUpload 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleCreateUpload 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleCreateUpload 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleCreateUpload 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleCreateUpload 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleDeleteUploadRoute = createRoute({
    operationId: 'consoleDeleteUpload',
    method: 'delete',
    path: '/console/api/uploads/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleDeleteUploadPath
    },
    responses: {
        200: {
            description: 'consoleDeleteUpload 200',
            content: { 'application/json': { schema: zUploadDeletion } }
        },
        401: {
            description: 'consoleDeleteUpload 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleDeleteUpload 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleDeleteUpload 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleDeleteUpload 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleDeleteUpload 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleDeleteUpload 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetUploadRoute = createRoute({
    operationId: 'consoleGetUpload',
    method: 'get',
    path: '/console/api/uploads/{id}',
    security: [{ consoleSession: [] }],
    request: {
        params: zConsoleGetUploadPath
    },
    responses: {
        200: {
            description: 'consoleGetUpload 200',
            content: { 'application/json': { schema: zUpload } }
        },
        401: {
            description: 'consoleGetUpload 401',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleGetUpload 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetUpload 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetUpload 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetUpload 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleCompleteUploadRoute = createRoute({
    operationId: 'consoleCompleteUpload',
    method: 'post',
    path: '/console/api/uploads/{id}/complete',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleCompleteUploadPath,
        body: {
            content: { 'application/json': { schema: zConsoleCompleteUploadBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleCompleteUpload 200',
            content: { 'application/json': { schema: zUpload } }
        },
        400: {
            description: 'consoleCompleteUpload 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleCompleteUpload 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleCompleteUpload 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleCompleteUpload 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleCompleteUpload 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleCompleteUpload 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleCompleteUpload 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleCompleteUpload 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleCompleteUpload 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleCompleteUpload 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetWebhookSecretRoute = createRoute({
    operationId: 'consoleGetWebhookSecret',
    method: 'get',
    path: '/console/api/webhooks/secret',
    security: [{ consoleSession: [] }],
    responses: {
        200: {
            description: 'consoleGetWebhookSecret 200',
            content: { 'application/json': { schema: zConsoleWebhookSecret } }
        },
        401: {
            description: 'consoleGetWebhookSecret 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleGetWebhookSecret 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetWebhookSecret 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetWebhookSecret 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetWebhookSecret 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleRotateWebhookSecretRoute = createRoute({
    operationId: 'consoleRotateWebhookSecret',
    method: 'post',
    path: '/console/api/webhooks/secret/rotation',
    security: [{ consoleSession: [], csrfToken: [] }],
    responses: {
        201: {
            description: 'consoleRotateWebhookSecret 201',
            content: { 'application/json': { schema: zConsoleWebhookSecret } }
        },
        401: {
            description: 'consoleRotateWebhookSecret 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleRotateWebhookSecret 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleRotateWebhookSecret 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleRotateWebhookSecret 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleRotateWebhookSecret 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleSwitchWebhookSecretRoute = createRoute({
    operationId: 'consoleSwitchWebhookSecret',
    method: 'post',
    path: '/console/api/webhooks/secret/switch',
    security: [{ consoleSession: [], csrfToken: [] }],
    responses: {
        200: {
            description: 'consoleSwitchWebhookSecret 200',
            content: { 'application/json': { schema: zConsoleWebhookSecret } }
        },
        401: {
            description: 'consoleSwitchWebhookSecret 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleSwitchWebhookSecret 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleSwitchWebhookSecret 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleSwitchWebhookSecret 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleSwitchWebhookSecret 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListDeliveriesRoute = createRoute({
    operationId: 'consoleListDeliveries',
    method: 'get',
    path: '/console/api/webhooks/deliveries',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListDeliveriesQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListDeliveries 200',
            content: { 'application/json': { schema: zConsoleDeliveryList } }
        },
        400: {
            description: 'consoleListDeliveries 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListDeliveries 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListDeliveries 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListDeliveries 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListDeliveries 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetDeliveryRoute = createRoute({
    operationId: 'consoleGetDelivery',
    method: 'get',
    path: '/console/api/webhooks/deliveries/{id}',
    security: [{ consoleSession: [] }],
    request: {
        params: zConsoleGetDeliveryPath
    },
    responses: {
        200: {
            description: 'consoleGetDelivery 200',
            content: { 'application/json': { schema: zConsoleDeliveryDetail } }
        },
        401: {
            description: 'consoleGetDelivery 401',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleGetDelivery 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetDelivery 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetDelivery 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetDelivery 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleResendDeliveryRoute = createRoute({
    operationId: 'consoleResendDelivery',
    method: 'post',
    path: '/console/api/webhooks/deliveries/{id}/resend',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleResendDeliveryPath
    },
    responses: {
        202: {
            description: 'consoleResendDelivery 202',
            content: { 'application/json': { schema: zConsoleDeliveryDetail } }
        },
        401: {
            description: 'consoleResendDelivery 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleResendDelivery 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleResendDelivery 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleResendDelivery 409',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleResendDelivery 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleResendDelivery 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleResendDelivery 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleTestWebhookRoute = createRoute({
    operationId: 'consoleTestWebhook',
    method: 'post',
    path: '/console/api/webhooks/test',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleTestWebhookBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleTestWebhook 201',
            content: { 'application/json': { schema: zConsoleWebhookTest } }
        },
        400: {
            description: 'consoleTestWebhook 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleTestWebhook 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleTestWebhook 403',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleTestWebhook 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleTestWebhook 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleTestWebhook 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleTestWebhook 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleTestWebhook 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListWebhookEndpointsRoute = createRoute({
    operationId: 'consoleListWebhookEndpoints',
    method: 'get',
    path: '/console/api/webhook-endpoints',
    security: [{ consoleSession: [] }],
    responses: {
        200: {
            description: 'consoleListWebhookEndpoints 200',
            content: { 'application/json': { schema: zWebhookEndpointList } }
        },
        401: {
            description: 'consoleListWebhookEndpoints 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListWebhookEndpoints 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListWebhookEndpoints 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListWebhookEndpoints 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleCreateWebhookEndpointRoute = createRoute({
    operationId: 'consoleCreateWebhookEndpoint',
    method: 'post',
    path: '/console/api/webhook-endpoints',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        body: {
            content: { 'application/json': { schema: zConsoleCreateWebhookEndpointBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'consoleCreateWebhookEndpoint 201',
            content: { 'application/json': { schema: zWebhookEndpointSecret } }
        },
        400: {
            description: 'consoleCreateWebhookEndpoint 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleCreateWebhookEndpoint 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleCreateWebhookEndpoint 403',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'consoleCreateWebhookEndpoint 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleCreateWebhookEndpoint 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleCreateWebhookEndpoint 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleCreateWebhookEndpoint 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleCreateWebhookEndpoint 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleCreateWebhookEndpoint 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleDeleteWebhookEndpointRoute = createRoute({
    operationId: 'consoleDeleteWebhookEndpoint',
    method: 'delete',
    path: '/console/api/webhook-endpoints/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleDeleteWebhookEndpointPath
    },
    responses: {
        200: {
            description: 'consoleDeleteWebhookEndpoint 200',
            content: { 'application/json': { schema: zWebhookEndpointDeletion } }
        },
        401: {
            description: 'consoleDeleteWebhookEndpoint 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleDeleteWebhookEndpoint 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleDeleteWebhookEndpoint 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleDeleteWebhookEndpoint 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleDeleteWebhookEndpoint 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleDeleteWebhookEndpoint 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleUpdateWebhookEndpointRoute = createRoute({
    operationId: 'consoleUpdateWebhookEndpoint',
    method: 'patch',
    path: '/console/api/webhook-endpoints/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleUpdateWebhookEndpointPath,
        body: {
            content: { 'application/json': { schema: zConsoleUpdateWebhookEndpointBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'consoleUpdateWebhookEndpoint 200',
            content: { 'application/json': { schema: zWebhookEndpoint } }
        },
        400: {
            description: 'consoleUpdateWebhookEndpoint 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleUpdateWebhookEndpoint 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleUpdateWebhookEndpoint 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleUpdateWebhookEndpoint 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleUpdateWebhookEndpoint 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleUpdateWebhookEndpoint 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleUpdateWebhookEndpoint 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleUpdateWebhookEndpoint 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleUpdateWebhookEndpoint 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleRotateWebhookEndpointSecretRoute = createRoute({
    operationId: 'consoleRotateWebhookEndpointSecret',
    method: 'post',
    path: '/console/api/webhook-endpoints/{id}/secret/rotation',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleRotateWebhookEndpointSecretPath
    },
    responses: {
        201: {
            description: 'consoleRotateWebhookEndpointSecret 201',
            content: { 'application/json': { schema: zWebhookEndpointSecret } }
        },
        401: {
            description: 'consoleRotateWebhookEndpointSecret 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleRotateWebhookEndpointSecret 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleRotateWebhookEndpointSecret 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleRotateWebhookEndpointSecret 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleRotateWebhookEndpointSecret 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleRotateWebhookEndpointSecret 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleSwitchWebhookEndpointSecretRoute = createRoute({
    operationId: 'consoleSwitchWebhookEndpointSecret',
    method: 'post',
    path: '/console/api/webhook-endpoints/{id}/secret/switch',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleSwitchWebhookEndpointSecretPath
    },
    responses: {
        200: {
            description: 'consoleSwitchWebhookEndpointSecret 200',
            content: { 'application/json': { schema: zWebhookEndpoint } }
        },
        401: {
            description: 'consoleSwitchWebhookEndpointSecret 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleSwitchWebhookEndpointSecret 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleSwitchWebhookEndpointSecret 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleSwitchWebhookEndpointSecret 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleSwitchWebhookEndpointSecret 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleSwitchWebhookEndpointSecret 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleTestWebhookEndpointRoute = createRoute({
    operationId: 'consoleTestWebhookEndpoint',
    method: 'post',
    path: '/console/api/webhook-endpoints/{id}/test',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zConsoleTestWebhookEndpointPath,
        body: {
            content: { 'application/json': { schema: zConsoleTestWebhookEndpointBody } },
            required: true
        }
    },
    responses: {
        202: {
            description: 'consoleTestWebhookEndpoint 202',
            content: { 'application/json': { schema: zWebhookEndpointTestResult } }
        },
        400: {
            description: 'consoleTestWebhookEndpoint 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleTestWebhookEndpoint 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'consoleTestWebhookEndpoint 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'consoleTestWebhookEndpoint 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'consoleTestWebhookEndpoint 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'consoleTestWebhookEndpoint 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleTestWebhookEndpoint 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleTestWebhookEndpoint 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleTestWebhookEndpoint 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListRequestLogRoute = createRoute({
    operationId: 'consoleListRequestLog',
    method: 'get',
    path: '/console/api/request-log',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListRequestLogQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListRequestLog 200',
            content: { 'application/json': { schema: zRequestLogPage } }
        },
        400: {
            description: 'consoleListRequestLog 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListRequestLog 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListRequestLog 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListRequestLog 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListRequestLog 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListLedgerRoute = createRoute({
    operationId: 'consoleListLedger',
    method: 'get',
    path: '/console/api/ledger',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListLedgerQuery, { limit: 'number', starting_after: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListLedger 200',
            content: { 'application/json': { schema: zLedger } }
        },
        400: {
            description: 'consoleListLedger 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListLedger 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListLedger 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListLedger 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListLedger 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleGetUsageRoute = createRoute({
    operationId: 'consoleGetUsage',
    method: 'get',
    path: '/console/api/usage',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleGetUsageQuery, { days: 'number' })
    },
    responses: {
        200: {
            description: 'consoleGetUsage 200',
            content: { 'application/json': { schema: zConsoleUsage } }
        },
        400: {
            description: 'consoleGetUsage 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleGetUsage 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleGetUsage 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleGetUsage 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleGetUsage 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListAuditLogRoute = createRoute({
    operationId: 'consoleListAuditLog',
    method: 'get',
    path: '/console/api/audit-log',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListAuditLogQuery, { limit: 'number', starting_after: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListAuditLog 200',
            content: { 'application/json': { schema: zAuditLog } }
        },
        400: {
            description: 'consoleListAuditLog 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListAuditLog 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListAuditLog 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListAuditLog 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListAuditLog 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleExportAuditLogRoute = createRoute({
    operationId: 'consoleExportAuditLog',
    method: 'get',
    path: '/console/api/audit-log/export',
    security: [{ consoleSession: [] }],
    responses: {
        200: {
            description: 'consoleExportAuditLog 200',
            content: { 'application/json': { schema: zAuditExport } }
        },
        401: {
            description: 'consoleExportAuditLog 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleExportAuditLog 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleExportAuditLog 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleExportAuditLog 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const consoleListCertificatesRoute = createRoute({
    operationId: 'consoleListCertificates',
    method: 'get',
    path: '/console/api/certificates',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zConsoleListCertificatesQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'consoleListCertificates 200',
            content: { 'application/json': { schema: zConsoleCertificateList } }
        },
        400: {
            description: 'consoleListCertificates 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'consoleListCertificates 401',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'consoleListCertificates 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'consoleListCertificates 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'consoleListCertificates 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorGetOverviewRoute = createRoute({
    operationId: 'operatorGetOverview',
    method: 'get',
    path: '/console/api/operator/overview',
    security: [{ consoleSession: [] }],
    responses: {
        200: {
            description: 'operatorGetOverview 200',
            content: { 'application/json': { schema: zOperatorOverview } }
        },
        401: {
            description: 'operatorGetOverview 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorGetOverview 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorGetOverview 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorGetOverview 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorGetOverview 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorGetHistoryRoute = createRoute({
    operationId: 'operatorGetHistory',
    method: 'get',
    path: '/console/api/operator/history',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zOperatorGetHistoryQuery, {})
    },
    responses: {
        200: {
            description: 'operatorGetHistory 200',
            content: { 'application/json': { schema: zOperatorHistory } }
        },
        400: {
            description: 'operatorGetHistory 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorGetHistory 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorGetHistory 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorGetHistory 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorGetHistory 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorGetHistory 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorListAccountsRoute = createRoute({
    operationId: 'operatorListAccounts',
    method: 'get',
    path: '/console/api/operator/accounts',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zOperatorListAccountsQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'operatorListAccounts 200',
            content: { 'application/json': { schema: zOperatorAccountList } }
        },
        400: {
            description: 'operatorListAccounts 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorListAccounts 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorListAccounts 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorListAccounts 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorListAccounts 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorListAccounts 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorDecideRoute = createRoute({
    operationId: 'operatorDecide',
    method: 'post',
    path: '/console/api/operator/accounts/{id}/decision',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorDecidePath,
        body: {
            content: { 'application/json': { schema: zOperatorDecideBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'operatorDecide 200',
            content: { 'application/json': { schema: zOperatorAccount } }
        },
        400: {
            description: 'operatorDecide 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorDecide 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorDecide 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorDecide 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'operatorDecide 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'operatorDecide 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorDecide 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorDecide 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorDecide 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorGrantRoute = createRoute({
    operationId: 'operatorGrant',
    method: 'post',
    path: '/console/api/operator/accounts/{id}/grants',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorGrantPath,
        headers: zOperatorGrantHeaders,
        body: {
            content: { 'application/json': { schema: zOperatorGrantBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'operatorGrant 201',
            content: { 'application/json': { schema: zOperatorAccount } }
        },
        400: {
            description: 'operatorGrant 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorGrant 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorGrant 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorGrant 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'operatorGrant 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'operatorGrant 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'operatorGrant 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorGrant 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorGrant 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorGrant 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorWithdrawRoute = createRoute({
    operationId: 'operatorWithdraw',
    method: 'post',
    path: '/console/api/operator/accounts/{id}/withdrawals',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorWithdrawPath,
        headers: zOperatorWithdrawHeaders,
        body: {
            content: { 'application/json': { schema: zOperatorWithdrawBody } },
            required: true
        }
    },
    responses: {
        201: {
            description: 'operatorWithdraw 201',
            content: { 'application/json': { schema: zOperatorAccount } }
        },
        400: {
            description: 'operatorWithdraw 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorWithdraw 401',
            content: { 'application/json': { schema: zError } }
        },
        402: {
            description: 'operatorWithdraw 402',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorWithdraw 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorWithdraw 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'operatorWithdraw 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'operatorWithdraw 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'operatorWithdraw 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorWithdraw 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorWithdraw 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorWithdraw 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorSetPlanRoute = createRoute({
    operationId: 'operatorSetPlan',
    method: 'post',
    path: '/console/api/operator/accounts/{id}/plan',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorSetPlanPath,
        body: {
            content: { 'application/json': { schema: zOperatorSetPlanBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'operatorSetPlan 200',
            content: { 'application/json': { schema: zOperatorAccount } }
        },
        400: {
            description: 'operatorSetPlan 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorSetPlan 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorSetPlan 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorSetPlan 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'operatorSetPlan 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'operatorSetPlan 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorSetPlan 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorSetPlan 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorSetPlan 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorSetQuotasRoute = createRoute({
    operationId: 'operatorSetQuotas',
    method: 'post',
    path: '/console/api/operator/accounts/{id}/quotas',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorSetQuotasPath,
        body: {
            content: { 'application/json': { schema: zOperatorSetQuotasBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'operatorSetQuotas 200',
            content: { 'application/json': { schema: zOperatorAccount } }
        },
        400: {
            description: 'operatorSetQuotas 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorSetQuotas 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorSetQuotas 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorSetQuotas 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'operatorSetQuotas 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'operatorSetQuotas 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorSetQuotas 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorSetQuotas 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorSetQuotas 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorCloseAccountRoute = createRoute({
    operationId: 'operatorCloseAccount',
    method: 'post',
    path: '/console/api/operator/accounts/{id}/closure',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorCloseAccountPath,
        body: {
            content: { 'application/json': { schema: zOperatorCloseAccountBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'operatorCloseAccount 200',
            content: { 'application/json': { schema: zOperatorAccountClosed } }
        },
        400: {
            description: 'operatorCloseAccount 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorCloseAccount 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorCloseAccount 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorCloseAccount 404',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'operatorCloseAccount 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'operatorCloseAccount 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorCloseAccount 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorCloseAccount 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorCloseAccount 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorRemovePersonRoute = createRoute({
    operationId: 'operatorRemovePerson',
    method: 'delete',
    path: '/console/api/operator/people/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorRemovePersonPath
    },
    responses: {
        200: {
            description: 'operatorRemovePerson 200',
            content: { 'application/json': { schema: zConsoleRemoved } }
        },
        401: {
            description: 'operatorRemovePerson 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorRemovePerson 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorRemovePerson 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'operatorRemovePerson 409',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorRemovePerson 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorRemovePerson 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorRemovePerson 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorChangeRoleRoute = createRoute({
    operationId: 'operatorChangeRole',
    method: 'patch',
    path: '/console/api/operator/people/{id}',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorChangeRolePath,
        body: {
            content: { 'application/json': { schema: zOperatorChangeRoleBody } },
            required: true
        }
    },
    responses: {
        200: {
            description: 'operatorChangeRole 200',
            content: { 'application/json': { schema: zConsolePerson } }
        },
        400: {
            description: 'operatorChangeRole 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorChangeRole 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorChangeRole 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorChangeRole 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'operatorChangeRole 409',
            content: { 'application/json': { schema: zError } }
        },
        413: {
            description: 'operatorChangeRole 413',
            content: { 'application/json': { schema: zError } }
        },
        415: {
            description: 'operatorChangeRole 415',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorChangeRole 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorChangeRole 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorChangeRole 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorCreatePasswordLinkRoute = createRoute({
    operationId: 'operatorCreatePasswordLink',
    method: 'post',
    path: '/console/api/operator/people/{id}/password-link',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorCreatePasswordLinkPath
    },
    responses: {
        201: {
            description: 'operatorCreatePasswordLink 201',
            content: { 'application/json': { schema: zOperatorPasswordLink } }
        },
        401: {
            description: 'operatorCreatePasswordLink 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorCreatePasswordLink 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorCreatePasswordLink 404',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorCreatePasswordLink 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorCreatePasswordLink 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorCreatePasswordLink 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorResetTwoFactorRoute = createRoute({
    operationId: 'operatorResetTwoFactor',
    method: 'post',
    path: '/console/api/operator/people/{id}/two-factor-reset',
    security: [{ consoleSession: [], csrfToken: [] }],
    request: {
        params: zOperatorResetTwoFactorPath
    },
    responses: {
        200: {
            description: 'operatorResetTwoFactor 200',
            content: { 'application/json': { schema: zOperatorTwoFactorReset } }
        },
        401: {
            description: 'operatorResetTwoFactor 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorResetTwoFactor 403',
            content: { 'application/json': { schema: zError } }
        },
        404: {
            description: 'operatorResetTwoFactor 404',
            content: { 'application/json': { schema: zError } }
        },
        409: {
            description: 'operatorResetTwoFactor 409',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorResetTwoFactor 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorResetTwoFactor 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorResetTwoFactor 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorListWorkersRoute = createRoute({
    operationId: 'operatorListWorkers',
    method: 'get',
    path: '/console/api/operator/workers',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zOperatorListWorkersQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'operatorListWorkers 200',
            content: { 'application/json': { schema: zOperatorWorkerList } }
        },
        400: {
            description: 'operatorListWorkers 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorListWorkers 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorListWorkers 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorListWorkers 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorListWorkers 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorListWorkers 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const operatorListFailuresRoute = createRoute({
    operationId: 'operatorListFailures',
    method: 'get',
    path: '/console/api/operator/failures',
    security: [{ consoleSession: [] }],
    request: {
        query: coercedQuery(zOperatorListFailuresQuery, { limit: 'number' })
    },
    responses: {
        200: {
            description: 'operatorListFailures 200',
            content: { 'application/json': { schema: zOperatorFailureList } }
        },
        400: {
            description: 'operatorListFailures 400',
            content: { 'application/json': { schema: zError } }
        },
        401: {
            description: 'operatorListFailures 401',
            content: { 'application/json': { schema: zError } }
        },
        403: {
            description: 'operatorListFailures 403',
            content: { 'application/json': { schema: zError } }
        },
        429: {
            description: 'operatorListFailures 429',
            content: { 'application/json': { schema: zError } }
        },
        500: {
            description: 'operatorListFailures 500',
            content: { 'application/json': { schema: zError } }
        },
        503: {
            description: 'operatorListFailures 503',
            content: { 'application/json': { schema: zError } }
        }
    }
});

export const routes = {
    listJobs: listJobsRoute,
    createJob: createJobRoute,
    createQuote: createQuoteRoute,
    deleteJob: deleteJobRoute,
    getJob: getJobRoute,
    getJobResult: getJobResultRoute,
    streamJobEvents: streamJobEventsRoute,
    getDeletionCertificate: getDeletionCertificateRoute,
    listPreviews: listPreviewsRoute,
    createPreview: createPreviewRoute,
    deletePreview: deletePreviewRoute,
    getPreview: getPreviewRoute,
    listUploads: listUploadsRoute,
    createUpload: createUploadRoute,
    deleteUpload: deleteUploadRoute,
    getUpload: getUploadRoute,
    completeUpload: completeUploadRoute,
    uploadPart: uploadPartRoute,
    listModels: listModelsRoute,
    getAccount: getAccountRoute,
    updateAccount: updateAccountRoute,
    listLedger: listLedgerRoute,
    getUsage: getUsageRoute,
    listWebhookEndpoints: listWebhookEndpointsRoute,
    createWebhookEndpoint: createWebhookEndpointRoute,
    deleteWebhookEndpoint: deleteWebhookEndpointRoute,
    getWebhookEndpoint: getWebhookEndpointRoute,
    updateWebhookEndpoint: updateWebhookEndpointRoute,
    rotateWebhookEndpointSecret: rotateWebhookEndpointSecretRoute,
    switchWebhookEndpointSecret: switchWebhookEndpointSecretRoute,
    testWebhookEndpoint: testWebhookEndpointRoute,
    listRequestLog: listRequestLogRoute,
    listAuditLog: listAuditLogRoute,
    getJwks: getJwksRoute,
    getOpenApiJson: getOpenApiJsonRoute,
    getOpenApiYaml: getOpenApiYamlRoute,
    getDocs: getDocsRoute,
    downloadFile: downloadFileRoute,
    getHealth: getHealthRoute,
    getReadiness: getReadinessRoute,
    consoleSignUp: consoleSignUpRoute,
    consoleSignIn: consoleSignInRoute,
    consoleSignOut: consoleSignOutRoute,
    consoleGetSession: consoleGetSessionRoute,
    consoleChangePassword: consoleChangePasswordRoute,
    consoleUsePasswordLink: consoleUsePasswordLinkRoute,
    consoleGetTwoFactor: consoleGetTwoFactorRoute,
    consoleBeginTwoFactor: consoleBeginTwoFactorRoute,
    consoleConfirmTwoFactor: consoleConfirmTwoFactorRoute,
    consoleReplaceRecoveryCodes: consoleReplaceRecoveryCodesRoute,
    consoleDisableTwoFactor: consoleDisableTwoFactorRoute,
    consoleEndOtherSessions: consoleEndOtherSessionsRoute,
    consoleListSessions: consoleListSessionsRoute,
    consoleEndSession: consoleEndSessionRoute,
    consoleUpdateAccount: consoleUpdateAccountRoute,
    consoleListPeople: consoleListPeopleRoute,
    consoleRemovePerson: consoleRemovePersonRoute,
    consoleChangeRole: consoleChangeRoleRoute,
    consoleListInvitations: consoleListInvitationsRoute,
    consoleInvite: consoleInviteRoute,
    consoleRevokeInvitation: consoleRevokeInvitationRoute,
    consoleGetInvitation: consoleGetInvitationRoute,
    consoleAcceptInvitation: consoleAcceptInvitationRoute,
    consoleListKeys: consoleListKeysRoute,
    consoleCreateKey: consoleCreateKeyRoute,
    consoleRevokeKey: consoleRevokeKeyRoute,
    consoleRenameKey: consoleRenameKeyRoute,
    consoleRotateKey: consoleRotateKeyRoute,
    consoleListJobs: consoleListJobsRoute,
    consoleCreateJob: consoleCreateJobRoute,
    consoleCreateQuote: consoleCreateQuoteRoute,
    consoleDeleteJob: consoleDeleteJobRoute,
    consoleGetJob: consoleGetJobRoute,
    consoleGetJobLinks: consoleGetJobLinksRoute,
    consoleStreamJobs: consoleStreamJobsRoute,
    consoleListPreviews: consoleListPreviewsRoute,
    consoleCreatePreview: consoleCreatePreviewRoute,
    consoleDeletePreview: consoleDeletePreviewRoute,
    consoleGetPreview: consoleGetPreviewRoute,
    consoleCreateUpload: consoleCreateUploadRoute,
    consoleDeleteUpload: consoleDeleteUploadRoute,
    consoleGetUpload: consoleGetUploadRoute,
    consoleCompleteUpload: consoleCompleteUploadRoute,
    consoleGetWebhookSecret: consoleGetWebhookSecretRoute,
    consoleRotateWebhookSecret: consoleRotateWebhookSecretRoute,
    consoleSwitchWebhookSecret: consoleSwitchWebhookSecretRoute,
    consoleListDeliveries: consoleListDeliveriesRoute,
    consoleGetDelivery: consoleGetDeliveryRoute,
    consoleResendDelivery: consoleResendDeliveryRoute,
    consoleTestWebhook: consoleTestWebhookRoute,
    consoleListWebhookEndpoints: consoleListWebhookEndpointsRoute,
    consoleCreateWebhookEndpoint: consoleCreateWebhookEndpointRoute,
    consoleDeleteWebhookEndpoint: consoleDeleteWebhookEndpointRoute,
    consoleUpdateWebhookEndpoint: consoleUpdateWebhookEndpointRoute,
    consoleRotateWebhookEndpointSecret: consoleRotateWebhookEndpointSecretRoute,
    consoleSwitchWebhookEndpointSecret: consoleSwitchWebhookEndpointSecretRoute,
    consoleTestWebhookEndpoint: consoleTestWebhookEndpointRoute,
    consoleListRequestLog: consoleListRequestLogRoute,
    consoleListLedger: consoleListLedgerRoute,
    consoleGetUsage: consoleGetUsageRoute,
    consoleListAuditLog: consoleListAuditLogRoute,
    consoleExportAuditLog: consoleExportAuditLogRoute,
    consoleListCertificates: consoleListCertificatesRoute,
    operatorGetOverview: operatorGetOverviewRoute,
    operatorGetHistory: operatorGetHistoryRoute,
    operatorListAccounts: operatorListAccountsRoute,
    operatorDecide: operatorDecideRoute,
    operatorGrant: operatorGrantRoute,
    operatorWithdraw: operatorWithdrawRoute,
    operatorSetPlan: operatorSetPlanRoute,
    operatorSetQuotas: operatorSetQuotasRoute,
    operatorCloseAccount: operatorCloseAccountRoute,
    operatorRemovePerson: operatorRemovePersonRoute,
    operatorChangeRole: operatorChangeRoleRoute,
    operatorCreatePasswordLink: operatorCreatePasswordLinkRoute,
    operatorResetTwoFactor: operatorResetTwoFactorRoute,
    operatorListWorkers: operatorListWorkersRoute,
    operatorListFailures: operatorListFailuresRoute
};
