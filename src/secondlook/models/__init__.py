"""Chat models by role: who serves which, and the one door through which every call goes."""
