# PowerShell: punctual completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName punctual -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { "$_".Trim("'", '"') })
    & punctual complete "--last=$wordToComplete" '--' @words 2>$null | ForEach-Object {
        $value, $help = $_ -split "`t", 2
        $text = if ($value -notmatch '^[\w./:=+-]+$') { "'" + $value.Replace("'", "''") + "'" } else { $value }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $(if ($help) { $help } else { $value }))
    }
}
