{{- define "reelmend.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 30 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 30 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "reelmend.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "reelmend.fullname" .) }}
{{- end }}

{{- define "reelmend.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "reelmend.labels" -}}
{{ include "reelmend.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* .root, .image: the image of a pool; if it names no repository, the image of the chart */}}
{{- define "reelmend.image" -}}
{{- $image := .root.Values.image -}}
{{- if (.image | default dict).repository }}{{ $image = .image }}{{ end -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}{{ else }}{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* .root, .image: when the image of a pool is pulled; by default as that of the chart */}}
{{- define "reelmend.pullPolicy" -}}
{{ (.image | default dict).pullPolicy | default .root.Values.image.pullPolicy }}
{{- end }}

{{/* .root, .isolation: the security settings of the pod */}}
{{- define "reelmend.podSecurity" -}}
{{- if eq .isolation "bubblewrap" }}
hostUsers: false
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
{{- if eq .isolation "bubblewrap" }}
  seccompProfile: {{ toYaml .root.Values.seccompProfile | nindent 4 }}
  appArmorProfile: {{ toYaml .root.Values.appArmorProfile | nindent 4 }}
{{- else }}
  seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- end }}

{{- define "reelmend.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- if eq .isolation "bubblewrap" }}
  # The media child mounts its own /proc. The kernel refuses that while parts of the container's /proc are masked.
  procMount: Unmasked
{{- end }}
{{- end }}

{{/* .root, .isolation, .env: a map of further variables */}}
{{- define "reelmend.env" -}}
{{- $values := .root.Values }}
{{- $set := dict
  "REELMEND_PUBLIC_URL" $values.publicUrl
  "REELMEND_PROXY_HOPS" $values.proxyHops
  "REELMEND_REQUIRE_ISOLATION" (ternary 1 0 (eq .isolation "bubblewrap"))
  "REELMEND_DATA_DIR" "/var/lib/reelmend"
  "REELMEND_DEMO" 0
  "REELMEND_RESTART" 0
  "HOST" "0.0.0.0"
  "PORT" 8080
  "REELMEND_METRICS_HOST" "0.0.0.0"
  "REELMEND_METRICS_PORT" 9464
  "S3_BUCKET" (required "s3.bucket is required" $values.s3.bucket)
  "S3_ENDPOINT" $values.s3.endpoint
  "S3_PUBLIC_ENDPOINT" $values.s3.publicEndpoint
  "S3_REGION" $values.s3.region }}
{{- range $name, $value := merge (dict) (.env | default dict) $values.env $set }}
{{- /* Numbers of a file are floats for Helm, which prints a million as 1e+06. */}}
{{- $isWhole := and (kindIs "float64" $value) (eq (floor $value) $value) }}
{{- $text := toString (ternary (int64 $value) $value $isWhole) }}
{{- if ne $text "" }}
- { name: {{ $name }}, value: {{ $text | quote }} }
{{- end }}
{{- end }}
{{- range list "DATABASE_URL" "REELMEND_KEY_PEPPER" "REELMEND_LINK_SECRET" }}
- { name: {{ . }}, valueFrom: { secretKeyRef: { name: {{ $values.secrets.service }}, key: {{ . }} } } }
{{- end }}
- { name: DATABASE_SESSION_URL, valueFrom: { secretKeyRef: { name: {{ $values.secrets.service }}, key: DATABASE_SESSION_URL, optional: true } } }
{{- if $values.secrets.s3 }}
{{- range list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" }}
- { name: {{ . }}, valueFrom: { secretKeyRef: { name: {{ $values.secrets.s3 }}, key: {{ . }} } } }
{{- end }}
{{- end }}
{{- end }}

{{/* .resources, .concurrency: threads of one job, from the requested cores; nothing if none are requested */}}
{{- define "reelmend.threads" -}}
{{- $cores := dig "requests" "cpu" "" .resources | toString }}
{{- if $cores }}
{{- $millis := ternary (trimSuffix "m" $cores | float64) (mulf (float64 $cores) 1000) (hasSuffix "m" $cores) }}
{{- max 1 (floor (divf $millis (mulf 1000 (max 1 .concurrency)))) }}
{{- end }}
{{- end }}

{{/* .scratch: size of the data folder, which holds only scratch files */}}
{{- define "reelmend.volumes" -}}
- { name: data, emptyDir: { sizeLimit: {{ .scratch }} } }
- { name: tmp, emptyDir: { sizeLimit: 1Gi } }
{{- end }}

{{- define "reelmend.volumeMounts" -}}
- { name: data, mountPath: /var/lib/reelmend }
- { name: tmp, mountPath: /tmp }
{{- end }}

{{/* .place: nodeSelector, tolerations and affinity of a component */}}
{{- define "reelmend.placement" -}}
{{- with .place.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .place.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .place.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
