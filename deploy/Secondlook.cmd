@rem For Windows: a double click opens the page. SECONDLOOK may name where it is installed.
@if "%SECONDLOOK%"=="" set SECONDLOOK=secondlook
@"%SECONDLOOK%" serve
